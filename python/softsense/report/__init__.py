"""Reports: one self-contained HTML document, for a browser, a phone or a printer.

`html` makes a document of sections with charts and tables. `of_comparison`, `of_fer`, `of_codes` and `of_decode_table`
choose the content of their documents, as `papers.pages` does for reproductions. Charts are data, in JSON: the scripts
of `softsense/web` draw them in the browser, and are in the document, so nothing is ever loaded from a network.
"""

from softsense.charts import Chart, Mark, Series
from softsense.report.comparisons import of_comparison
from softsense.report.measurements import of_codes, of_decode_table, of_fer
from softsense.report.pages import html, versions
from softsense.report.parts import Attachment, Picture, Section, Table

__all__ = [
    "Attachment",
    "Chart",
    "Mark",
    "Picture",
    "Section",
    "Series",
    "Table",
    "html",
    "of_codes",
    "of_comparison",
    "of_decode_table",
    "of_fer",
    "versions",
]
