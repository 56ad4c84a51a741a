// What every page of softsense does in a browser: light and dark, contents that follow, tables that sort, filter and are saved.
"use strict";

(() => {
  // Light and dark --------------------------------------------------------------------------------------------------

  const KEY = "softsense-theme";
  const root = document.documentElement;
  // A file may have no storage: then the choice lasts as long as the page.
  const remembered = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const remember = (theme) => {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // As said.
    }
  };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");
  const paint = (chosen) => {
    if (chosen) root.dataset.theme = chosen;
    theme.textContent = Charts.isDark() ? "☀ light" : "☾ dark";
    Plots.redraw();
  };
  paint(["light", "dark"].includes(remembered()) ? remembered() : null);
  dark.addEventListener("change", () => paint(null));
  theme.addEventListener("click", () => {
    const next = Charts.isDark() ? "light" : "dark";
    remember(next);
    paint(next);
  });

  // Contents --------------------------------------------------------------------------------------------------------

  const contents = document.querySelector("nav details");
  if (contents) {
    const wide = window.matchMedia("(min-width: 64rem)");
    const fold = () => (contents.open = wide.matches);
    fold();
    wide.addEventListener("change", fold);
    const links = [...contents.querySelectorAll("a")];
    for (const link of links) link.addEventListener("click", () => wide.matches || (contents.open = false));
    const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
    const place = contents.querySelector("summary .place");
    // The last section that has begun above a third of the window.
    const follow = () => {
      const line = window.innerHeight / 3;
      const at = sections.findLastIndex((section) => section && section.getBoundingClientRect().top < line);
      links.forEach((link, i) => (i === at ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
      if (place) place.textContent = at < 0 ? "" : `: ${links[at].textContent}`;
    };
    let waiting = false;
    const soon = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        follow();
      });
    };
    window.addEventListener("scroll", soon, { passive: true });
    window.addEventListener("resize", soon);
    follow();
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

  // Rows are shown that hold what is looked for, and that charts have selected.
  let selected = null;
  const sift = (figure) => {
    const sought = (figure.querySelector("input.filter")?.value ?? "").trim().toLowerCase();
    let shown = 0;
    const rows = [...figure.querySelector("tbody").rows];
    for (const row of rows) {
      const chosen = !selected || row.dataset.row === undefined || selected.has(row.dataset.row);
      row.hidden = !(chosen && (!sought || row.textContent.toLowerCase().includes(sought)));
      shown += !row.hidden;
    }
    const count = figure.querySelector(".count");
    if (count) count.textContent = shown < rows.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
  };
  const tables = [...document.querySelectorAll("figure.table")];
  for (const figure of tables) {
    figure.querySelector("input.filter")?.addEventListener("input", () => sift(figure));
    sift(figure);
    figure.querySelector("button[data-save]")?.addEventListener("click", () => {
      const rows = [...figure.querySelectorAll("tr")].filter((row) => !row.hidden);
      const text = Charts.csv(rows.map((row) => [...row.cells].map((cell) => cell.dataset.key ?? cell.textContent)));
      Charts.saveText(`${Charts.fileName(figure.dataset.name)}.csv`, text, "text/csv");
    });
  }
  Plots.onSelect((keys) => {
    selected = keys;
    for (const figure of tables) if (figure.querySelector("tr[data-row]")) sift(figure);
  });

  // A table that is narrow enough scrolls with the page, and its head sticks to that; others scroll by themselves.
  const fit = ({ target }) => target.classList.toggle("fits", target.firstElementChild.offsetWidth <= target.clientWidth);
  const watching = new ResizeObserver((entries) => entries.forEach(fit));
  for (const scroll of document.querySelectorAll(".scroll")) watching.observe(scroll);
})();
