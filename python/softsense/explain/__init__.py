"""One codeword's life as pictures and words: its cells, the results of sensing, the decodes, and the cost of reads.

A codeword is programmed with random data, its cells age, every level is sensed, and the decoder gets the values of the
regions. The read by each policy, with the config's technique of read retry, is worked out step by step and span by
span, for an otherwise idle device::

    from softsense import explain

    found = explain.explain("mlc-25nm", pe_cycles=10_000, retention_hours=365 * 24, page="upper")
    print(explain.text(found))
    explain.draw(found).savefig("upper.png")
"""

from softsense.explain.asking import parse_retention
from softsense.explain.explaining import explain
from softsense.explain.explanation import RESOURCES, Explanation
from softsense.explain.pictures import draw
from softsense.explain.reasons import moves_references, why, why_steps
from softsense.explain.words import heading, text, told, told_policy

__all__ = [
    "RESOURCES",
    "Explanation",
    "draw",
    "explain",
    "heading",
    "moves_references",
    "parse_retention",
    "text",
    "told",
    "told_policy",
    "why",
    "why_steps",
]
