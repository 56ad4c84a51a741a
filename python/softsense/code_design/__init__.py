"""The design of LDPC codes: from a page, a decoder and a failure rate to a quasi-cyclic matrix.

`design_code` is `softsense code design`::

    design = softsense.design_code(32768, 4096, fer=1e-10, iterations=20, store="design.store")
    print(design.table)  # a candidate a row: predicted, measured, absorbing sets, hardware
    design.save("mine.qc")  # the best candidate; `softsense fer mine.qc`

Column weights are ranked by density evolution, and the best are lifted with several seeds. Small absorbing sets are
searched for in the matrices, and the best few are measured. `_core.Waterfall` predicts (docs/model/ldpc-codes.md).
"""

from softsense.code_design.designing import FAMILIES, CodeDesign, design_code, parity_of_rate, parse_shares
from softsense.code_design.steps import MEASURED_AT

__all__ = ["FAMILIES", "MEASURED_AT", "CodeDesign", "design_code", "parity_of_rate", "parse_shares"]
