// What a report does in the browser: draws its charts, switches their axes, sorts its tables, and gets ready for paper.
"use strict";

(() => {
  const PAPER_PX = 680; // Within the margins of A4 and Letter, at 96 pixels an inch.
  // A finger that moves over a chart scrolls the page; a mouse zooms.
  const touch = window.matchMedia("(pointer: coarse)").matches;

  // Charts ----------------------------------------------------------------------------------------------------------

  const data = document.getElementById("charts");
  const charts = data ? JSON.parse(data.textContent) : [];
  const plots = [...document.querySelectorAll(".plot")];

  const height = (width) => Math.round(Math.min(Math.max(0.42 * width, 300), 400));

  const draw = (plot) => {
    const { data: traces, layout } = charts[plot.dataset.chart];
    layout.dragmode = touch ? false : "zoom";
    layout.height = height(plot.clientWidth);
    layout.hoverlabel.font.size = plot.clientWidth < 500 ? 11 : 13;
    // Copies, as plotly.js writes into what it is given.
    Plotly.newPlot(plot, traces, structuredClone(layout), { displayModeBar: false, responsive: true });
  };

  const switchAxis = (button) => {
    const log = button.getAttribute("aria-pressed") !== "true";
    const plot = button.closest(".chart").querySelector(".plot");
    const axis = button.dataset.axis;
    const { layout, log_ticks: ticks } = charts[plot.dataset.chart];
    const type = log ? "log" : "linear";
    const change = { [`${axis}.type`]: type, [`${axis}.dtick`]: log ? ticks[axis] : null };
    const range = layout[axis].type === type ? layout[axis].range : undefined;
    button.setAttribute("aria-pressed", log);
    Plotly.relayout(plot, range ? { ...change, [`${axis}.range`]: [...range] } : { ...change, [`${axis}.autorange`]: true });
  };

  // Legends: a click hides or shows a series, a double click shows it alone, or all again.
  const show = (keys, shown) => {
    const plot = keys.closest(".chart").querySelector(".plot");
    [...keys.children].forEach((key, i) => key.setAttribute("aria-pressed", shown[i]));
    Plotly.restyle(plot, { visible: shown });
  };

  const isShown = (key) => key.getAttribute("aria-pressed") === "true";

  plots.forEach(draw);
  for (const button of document.querySelectorAll(".scales button")) {
    button.addEventListener("click", () => switchAxis(button));
  }
  for (const keys of document.querySelectorAll(".keys")) {
    const all = [...keys.children];
    for (const key of all) {
      key.addEventListener("click", () => show(keys, all.map((other) => isShown(other) !== (other === key))));
      key.addEventListener("dblclick", () => {
        const alone = all.every((other) => isShown(other) === (other === key));
        show(keys, all.map((other) => alone || other === key));
      });
    }
  }

  // Tables ----------------------------------------------------------------------------------------------------------

  // Numbers by their value and before text; what is empty comes last, whichever way is up.
  const compare = (a, b, up) => {
    const empty = (cell) => cell.textContent === "" || cell.textContent === "-";
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    const [x, y] = [a.dataset.key, b.dataset.key];
    if (x !== undefined && y !== undefined) return up * (Number(x) - Number(y));
    if (x !== undefined || y !== undefined) return x !== undefined ? -1 : 1;
    return up * a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  };

  const sort = (head) => {
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const body = head.closest("table").tBodies[0];
    const rows = [...body.rows];
    rows.sort((a, b) => compare(a.cells[head.cellIndex], b.cells[head.cellIndex], ascending ? 1 : -1));
    body.append(...rows);
  };

  for (const button of document.querySelectorAll("thead button")) {
    button.addEventListener("click", () => sort(button.parentElement));
  }

  // A table that is wide enough scrolls with the page, and its head sticks to that; others scroll by themselves.
  const fit = ({ target }) => target.classList.toggle("fits", target.firstElementChild.offsetWidth <= target.clientWidth);
  const watching = new ResizeObserver((entries) => entries.forEach(fit));
  for (const scroll of document.querySelectorAll(".scroll")) watching.observe(scroll);

  // Paper -----------------------------------------------------------------------------------------------------------

  // Everything is opened but pictures of what the charts show already.
  const folded = () => document.querySelectorAll("details:not([open]):not(.picture)");
  let opened = [];

  window.addEventListener("beforeprint", () => {
    opened = [...folded()];
    for (const details of opened) details.open = true;
    for (const plot of plots) Plotly.relayout(plot, { width: PAPER_PX, height: height(PAPER_PX) });
  });

  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    for (const plot of plots) Plotly.relayout(plot, { width: null, autosize: true, height: height(plot.clientWidth) });
  });
})();
