// What a report does in the browser beyond any page: its charts, what switches them, and paper.
"use strict";

(() => {
  const PAPER_PX = 680; // Within the margins of A4 and Letter, at 96 pixels an inch.
  const data = document.getElementById("charts");
  const charts = data ? JSON.parse(data.textContent) : [];
  const plots = [...document.querySelectorAll(".plot")].map((element) => {
    element.plot = new Plots.Plot(element, charts[element.dataset.chart]);
    return element.plot;
  });
  const plotOf = (element) => element.closest(".chart").querySelector(".plot").plot;
  const isOn = (button) => button.getAttribute("aria-pressed") === "true";

  for (const button of document.querySelectorAll(".tools button[data-axis]")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", !isOn(button));
      plotOf(button).setLog(button.dataset.axis, isOn(button));
    });
  }
  for (const button of document.querySelectorAll(".chart .tools button[data-save]")) {
    button.addEventListener("click", () => {
      const { chart, view } = plotOf(button);
      if (button.dataset.save === "csv") {
        Charts.saveText(`${Charts.fileName(chart.title)}.csv`, Charts.numbersOf(chart), "text/csv");
      } else {
        Charts.savePicture(chart, view, button.dataset.save);
      }
    });
  }
  for (const button of document.querySelectorAll(".tools button[data-select]")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", !isOn(button));
      const plot = plotOf(button);
      plot.selecting = isOn(button);
      plot.element.classList.toggle("selecting", plot.selecting);
      if (!plot.selecting) Plots.select(null);
    });
  }

  // Legends: a click hides or shows a series, a double click shows it alone, or all again.
  const show = (keys, shown) => {
    keys.forEach((key, i) => key.setAttribute("aria-pressed", shown[i]));
    plotOf(keys[0]).setShown(shown);
  };
  const swatch = (keys) => {
    const { chart } = plotOf(keys);
    [...keys.querySelectorAll("button i")].forEach((i, n) => {
      i.style.color = Charts.shade(chart.series[n].colour, Charts.palette());
    });
  };
  for (const group of document.querySelectorAll(".keys")) {
    const keys = [...group.querySelectorAll("button")];
    swatch(group);
    for (const key of keys) {
      key.addEventListener("click", () => show(keys, keys.map((other) => isOn(other) !== (other === key))));
      key.addEventListener("dblclick", () => {
        const alone = keys.every((other) => isOn(other) === (other === key));
        show(keys, keys.map((other) => alone || other === key));
      });
    }
  }
  const swatches = () => document.querySelectorAll(".keys").forEach(swatch);
  document.getElementById("theme").addEventListener("click", swatches);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", swatches);

  // Paper: everything is opened but pictures of what the charts show already.
  const folded = () => document.querySelectorAll("details:not([open]):not(.picture)");
  let opened = [];

  window.addEventListener("beforeprint", () => {
    opened = [...folded()];
    for (const details of opened) details.open = true;
    for (const plot of plots) plot.print(PAPER_PX);
  });

  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    for (const plot of plots) plot.print(null);
  });
})();
