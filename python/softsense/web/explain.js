// The page of `softsense explain --serve`: what its controls say is asked of the server, and shown.
"use strict";

(() => {
  const WAIT_MS = 40; // A slider that moves asks no more often.
  const { retentions } = JSON.parse(document.getElementById("first").textContent);
  const form = document.querySelector("form.controls");
  const at = (id) => document.getElementById(id);
  const field = (name) => form.elements.namedItem(name);
  const plots = {};
  let answer = null;

  const age = (hours) => (hours < 48 ? `${hours} h` : hours <= 8760 ? `${hours / 24} days` : `${Charts.show(hours / 8760)} years`);

  const query = () => {
    const values = Object.fromEntries(new FormData(form));
    values.hours = retentions[values.hours];
    return new URLSearchParams(values);
  };

  const label = () => {
    at("pe-is").textContent = Charts.show(Number(field("pe").value));
    at("hours-is").textContent = age(retentions[field("hours").value]);
    at("seed-is").textContent = field("seed").value;
  };

  const cells = (rows) => {
    const made = rows.map((row, n) => {
      const line = document.createElement("tr");
      for (const text of row) {
        const cell = document.createElement(n ? "td" : "th");
        cell.textContent = text;
        if (typeof text === "number" || /^[-+\d.,∞]+( %)?$/.test(text)) cell.className = "number";
        line.append(cell);
      }
      return line;
    });
    const head = document.createElement("thead");
    head.append(made[0]);
    const body = document.createElement("tbody");
    body.append(...made.slice(1));
    return [head, body];
  };

  const volts = (value) => (value === null ? "" : value.toFixed(3));
  const few = (value) => (value === null || value === undefined ? "" : Charts.show(Number(value.toPrecision(3))));

  const shown = (found) => {
    const told = found.explanation;
    at("told").textContent = found.told;
    at("heading").textContent = found.heading;
    at("took").textContent = `answered in ${found.ms} ms`;
    at("failure").hidden = true;
    at("shown").classList.remove("stale");
    const quickest = told.reads.reduce((a, b) => (a.latency_us <= b.latency_us ? a : b));
    const numbers = {
      "raw bit error rate": told.rber.toExponential(3),
      "wrong bits of this codeword": `${Charts.show(told.raw_errors)} of ${Charts.show(told.codeword_bits)}`,
      "level that decodes": told.required_level ?? "none",
      "read takes": `${Charts.show(quickest.latency_us)} µs (${quickest.policy})`,
    };
    at("numbers").replaceChildren(
      ...Object.entries(numbers).map(([name, value]) => {
        const row = document.createElement("div");
        const head = Object.assign(document.createElement("dt"), { textContent: name });
        const body = Object.assign(document.createElement("dd"), { textContent: value });
        row.append(head, body);
        return row;
      }),
    );
    for (const [name, chart] of Object.entries(found.charts)) draw(name, chart);
    const regions = told.regions.filter((region) => region.level === told.level);
    at("regions").replaceChildren(
      ...cells([
        ["region", "from V", "to V", "P(region | 0)", "P(region | 1)", "LLR", "for the decoder", "cells with 0", "cells with 1"],
        ...regions.map((each) => [
          each.region, volts(each.from_v), volts(each.to_v), few(each.p_given_0), few(each.p_given_1),
          each.llr === null ? "∞" : each.llr.toFixed(2), each.integer_llr, each.cells_with_0, each.cells_with_1,
        ]),
      ]),
    );
    at("steps").replaceChildren(
      ...cells([
        ["policy", "step", "references", "level", "sensed for µs", "wrong bits", "violated checks", "decodes"],
        ...told.steps.map((each) => [
          each.policy, each.step, each.references.replaceAll("_", " "), each.known_cells ? "known cells" : each.level,
          Charts.show(each.sense_us), each.raw_errors ?? "", each.violated_checks ?? "",
          each.decoded === null ? "not tried" : each.decoded ? "✓ yes" : "✗ no",
        ]),
      ]),
    );
    document.body.dataset.answer = query().toString();
  };

  const draw = (name, chart) => {
    const figure = at(`chart-${name}`);
    figure.querySelector("h3").textContent = chart.title;
    figure.querySelector(".y-label").textContent = chart.stacked ? "" : chart.y.label;
    figure.querySelector(".note").textContent = chart.note ?? "";
    if (plots[name]) plots[name].update(chart);
    else plots[name] = new Plots.Plot(figure.querySelector(".plot"), chart);
    legend(figure, chart);
  };

  const legend = (figure, chart) => {
    const told = chart.series.filter((series) => !/ when written$/.test(series.name));
    Plots.legend(figure.querySelector(".keys"), told);
  };

  const failed = (message) => {
    at("failure").textContent = message;
    at("failure").hidden = false;
    at("shown").classList.add("stale");
    document.body.dataset.answer = query().toString();
  };

  let asking = null;
  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const asked = query();
    try {
      const response = await fetch(`api/explain?${asked}`, { signal });
      const found = await response.json();
      if (signal.aborted) return;
      if (!response.ok) failed(found.error);
      else {
        answer = found;
        shown(found);
      }
    } catch (error) {
      if (error.name !== "AbortError") failed("The server is gone: start `softsense explain --serve` again.");
    }
  };

  // With another device other pages, techniques and codes can be chosen; what can stays.
  const choose = async () => {
    const response = await fetch(`api/choices?${new URLSearchParams({ config: field("config").value })}`);
    const found = await response.json();
    if (!response.ok) {
      failed(found.error);
      return;
    }
    const fill = (name, options) => {
      const before = field(name).value;
      field(name).replaceChildren(...Object.entries(options).map(([value, words]) => new Option(words, value)));
      field(name).value = value(before, options);
    };
    const value = (before, options) => (before in options ? before : Object.keys(options)[0]);
    const same = (list) => Object.fromEntries(list.map((each) => [each, each]));
    fill("page", same(found.pages));
    fill("technique", found.techniques);
    fill("code", same(found.codes));
  };

  let timer = null;
  form.addEventListener("input", () => {
    label();
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT_MS);
  });
  field("config").addEventListener("change", async () => {
    clearTimeout(timer);
    await choose();
    ask();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  at("save").addEventListener("click", () => {
    if (answer) Charts.saveText("explanation.json", JSON.stringify(answer.explanation, null, 2), "application/json");
  });
  const repaint = () => answer && Object.entries(answer.charts).forEach(([name, chart]) => legend(at(`chart-${name}`), chart));
  at("theme").addEventListener("click", repaint);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  label();
  ask();
})();
