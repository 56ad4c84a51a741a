"""Reports: one HTML document that holds everything it shows, for a browser, a phone or a printer.

`html` makes a document of sections with charts and tables; `of_comparison` and `of_reproduction` say what goes into
one. Charts are data, in JSON: the scripts of `softsense/web` draw them in the browser, and are in the document, so
nothing is ever loaded from a network.
"""

from softsense.report.comparison import of_comparison
from softsense.report.page import html, versions
from softsense.report.parts import Attachment, Chart, Picture, Section, Series, Table
from softsense.report.reproduction import of_reproduction, of_reproductions

__all__ = [
    "Attachment",
    "Chart",
    "Picture",
    "Section",
    "Series",
    "Table",
    "html",
    "of_comparison",
    "of_reproduction",
    "of_reproductions",
    "versions",
]
