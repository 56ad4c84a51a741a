// The page of `softsense serve-results`: asks again and again how the runs of a folder are.
"use strict";

(() => {
  const OFTEN_MS = 1000; // While something runs.
  const SELDOM_MS = 2000;
  const SIGNS = { running: "▶", finished: "✓", interrupted: "‖", stopped: "✗", failed: "✗" };
  const MARKS = { running: "some", finished: "good", interrupted: "fair", stopped: "bad", failed: "bad" };
  const cards = new Map();
  const make = (tag, more = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), more);
    element.append(...inside);
    return element;
  };
  const time = (s) => {
    if (s < 90) return `${Math.round(s)} s`;
    return s < 5400 ? `${Math.round(s / 60)} min` : `${Charts.show(Number((s / 3600).toFixed(1)))} h`;
  };
  const show = (value) => (typeof value === "number" ? Charts.show(Number(value.toPrecision(5))) : String(value ?? ""));

  const card = (run) => {
    const element = make("section");
    element.innerHTML =
      '<h2></h2><p><span class="state mark"></span> <span class="said"></span></p><progress max="1"></progress>' +
      '<div class="charts"></div><p class="files"></p><div class="pictures"></div>' +
      '<div class="table"><h3>Points</h3><p class="note"></p><div class="scroll" tabindex="0"><table></table></div></div>';
    const found = { element, plots: {}, seen: "", pictures: "" };
    cards.set(run.where, found);
    return found;
  };

  const update = (run) => {
    const found = cards.get(run.where) ?? card(run);
    const at = (selector) => found.element.querySelector(selector);
    at("h2").textContent = `${run.what}: ${run.name}`;
    // The sign stands in the words: the class brings none of its own here.
    at(".state").className = `state mark plain ${MARKS[run.state]}`;
    at(".state").textContent = `${SIGNS[run.state]} ${run.state}`;
    const left = run.left_s === null ? "" : `, about ${time(run.left_s)} left`;
    const doing = run.state === "running" && run.doing ? `${run.doing}, ` : "";
    at(".said").textContent = run.elapsed_s === null ? run.doing : `${doing}${(100 * run.fraction).toFixed(1)} % complete, ${Charts.show(run.count)} done, ${time(run.elapsed_s)}${left}`;
    at("progress").value = run.fraction;
    at("progress").textContent = `${Math.round(100 * run.fraction)} %`;
    for (const [name, chart] of Object.entries(run.charts)) draw(found, name, chart);
    const seen = JSON.stringify([run.files, run.points, run.state]);
    if (seen === found.seen) return;
    found.seen = seen;
    const links = run.files.filter((file) => !file.name.endsWith(".png"));
    at(".files").replaceChildren(...links.flatMap((file) => [make("a", { href: file.address, textContent: file.name }), " "]));
    pictures(found, run);
    at(".table").hidden = !run.points;
    if (run.points) table(found, run.points);
  };

  const draw = (found, name, chart) => {
    if (found.plots[name]) {
      const { plot, keys, told } = found.plots[name];
      const now = JSON.stringify(chart);
      if (now === told) return;
      found.plots[name].told = now;
      plot.update(chart);
      Plots.legend(keys, chart.series);
      return;
    }
    const plot = make("div", { className: "plot" });
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", chart.title);
    const heads = [make("h3", { textContent: chart.title }), make("p", { className: "y-label", textContent: chart.y.label })];
    const keys = make("div", { className: "keys" });
    heads.splice(1, 0, keys);
    found.element.querySelector(".charts").append(make("figure", { className: "chart" }, ...heads, plot));
    found.plots[name] = { plot: new Plots.Plot(plot, chart), keys, told: JSON.stringify(chart) };
    Plots.legend(keys, chart.series);
  };

  const pictures = (found, run) => {
    const some = run.files.filter((file) => file.name.endsWith(".png"));
    const names = JSON.stringify(some);
    if (names === found.pictures && run.state === "running") return;
    found.pictures = names;
    const shown = some.map((file) => make("a", { href: file.address }, make("img", { src: file.address, alt: file.name, loading: "lazy" })));
    found.element.querySelector(".pictures").replaceChildren(...shown);
  };

  const table = (found, points) => {
    const row = (tag, values) => make("tr", {}, ...values.map((value) => make(tag, { textContent: show(value), className: typeof value === "number" ? "number" : "" })));
    const head = make("thead", {}, row("th", points.columns));
    found.element.querySelector("table").replaceChildren(head, make("tbody", {}, ...points.rows.map((values) => row("td", values))));
    found.element.querySelector(".table .note").textContent = `${points.finished} of ${points.planned} points are finished${points.of > points.planned ? `: a sample by lot of ${points.of}` : ""}.`;
  };

  const follow = async () => {
    let running = false;
    try {
      const state = await (await fetch("api/state")).json();
      running = state.runs.some((run) => run.state === "running");
      const many = state.runs.filter((run) => run.state === "running").length;
      document.getElementById("told").textContent = state.runs.length
        ? `${state.runs.length} run${state.runs.length > 1 ? "s" : ""}, ${many} going on.`
        : "No run has said anything here yet: a sweep, a reproduction, or `fer` with a store in this folder will.";
      const skipped = state.skipped.map((line) => make("li", { textContent: `skipped ${line}` }));
      document.getElementById("skipped").replaceChildren(...skipped);
      state.runs.forEach(update);
      const wanted = new Set(state.runs.map((run) => run.where));
      for (const [where, found] of cards) {
        if (!wanted.has(where)) {
          found.element.remove();
          cards.delete(where);
        }
      }
      const order = state.runs.map((run) => cards.get(run.where).element);
      const runs = document.getElementById("runs");
      if (order.some((element, i) => runs.children[i] !== element)) runs.replaceChildren(...order);
      document.body.dataset.asked = String(Number(document.body.dataset.asked ?? 0) + 1);
    } catch {
      document.getElementById("told").textContent = "The server is gone: start `softsense serve-results` again.";
    }
    setTimeout(follow, running ? OFTEN_MS : SELDOM_MS);
  };
  follow();
})();
