"""Reports: one HTML document that holds everything it shows, for a browser, a phone or a printer.

`html` makes a document of sections with charts and tables; `of_comparison` says what goes into one of them, as
`papers.pages` does of reproductions. Charts are drawn in the browser by plotly.js, whose script plotly's wheel carries
and the document embeds, so nothing is ever loaded from a network. They are written as plotly.js wants them, in JSON: to
make them with plotly's own classes would take longer than everything else here. `report.js` draws them, switches their
axes and sorts tables; `report.css` is how it looks.
"""

from softsense.report.comparisons import of_comparison
from softsense.report.pages import html, versions
from softsense.report.parts import Attachment, Chart, Picture, Section, Series, Table

__all__ = [
    "Attachment",
    "Chart",
    "Picture",
    "Section",
    "Series",
    "Table",
    "html",
    "of_comparison",
    "versions",
]
