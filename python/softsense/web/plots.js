// Charts on a page: values under the pointer or the arrow keys, zoom, and a selection that all charts of the page share.
"use strict";

const Plots = (() => {
  const { render, palette, LIGHT, bar, show, namesOf } = Charts;
  const NEAR_PX = 40; // How far from a point the pointer still means it.
  const r = (value) => Math.round(value * 10) / 10;

  const plots = new Set();
  let selected = null;
  const listeners = [];

  // The keys that are selected in all charts of the page, or null.
  const select = (keys) => {
    selected = keys && keys.size ? keys : null;
    for (const plot of plots) plot.draw();
    for (const listener of listeners) listener(selected);
  };

  let made = 0;

  class Plot {
    constructor(element, chart) {
      this.element = element;
      this.id = `clip${(made += 1)}`;
      this.selecting = false;
      this.element.tabIndex = 0;
      this.canvas = document.createElement("div");
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      this.element.replaceChildren(this.canvas, this.tip);
      this.update(chart);
      plots.add(this);
      this.listen();
      let width = 0;
      new ResizeObserver(() => {
        if (this.element.clientWidth !== width && !this.paper) {
          width = this.element.clientWidth;
          this.draw();
        }
      }).observe(this.element);
    }

    // Another chart in its place; what the reader chose of the same series and axes stays.
    update(chart) {
      const before = this.chart;
      this.chart = chart;
      if (!before || before.series.length !== chart.series.length) {
        this.shown = chart.series.map(() => true);
        this.log = { x: Boolean(chart.x.log), y: Boolean(chart.y.log) };
      }
      this.zoom = { x: null, y: null };
      this.draw();
    }

    get view() {
      return { log: this.log, shown: this.shown, zoom: this.zoom, selected };
    }

    size() {
      const width = Math.max(160, this.paper || this.element.clientWidth || 600);
      const across = this.chart.stacked || this.chart.across;
      const bars = this.chart.stacked ? 1 : this.chart.series.filter(({ kind }) => kind === "bar").length;
      const rows = across ? namesOf(this.chart, this.shown).length * (bars ? Math.max(44, 14 * bars) : 26) + 60 : 0;
      return { width, height: rows ? Math.max(rows, 150) : Math.round(Math.min(Math.max(0.42 * width, 300), 400)) };
    }

    draw() {
      const colours = this.paper ? LIGHT : palette();
      const { svg, hits, scales, box } = render(this.chart, this.view, this.size(), colours, this.id);
      Object.assign(this, { hits, scales, box });
      // Every text of a description is escaped by `render`.
      this.canvas.innerHTML = `${svg}<g class="over"></g></svg>`;
      this.over = this.canvas.querySelector(".over");
      this.tip.hidden = true;
    }

    setLog(axis, log) {
      this.log[axis] = log;
      this.zoom[axis] = null;
      this.draw();
    }

    setShown(shown) {
      this.shown = shown;
      this.draw();
    }

    // Charts that share what is across zoom together.
    setZoom(x, y) {
      this.zoom = { x, y };
      this.draw();
      for (const other of plots) {
        if (other === this || !this.chart.linked || other.chart.linked !== this.chart.linked) continue;
        other.zoom = { x, y: null };
        other.draw();
      }
    }

    listen() {
      const element = this.element;
      let from = null;
      const place = (event) => {
        const { left, top } = this.canvas.getBoundingClientRect();
        return { x: event.clientX - left, y: event.clientY - top };
      };
      element.addEventListener("pointermove", (event) => {
        const at = place(event);
        if (from) this.drag(from, at);
        else this.point(this.nearest(at));
      });
      element.addEventListener("pointerleave", () => from || this.point(null));
      element.addEventListener("pointerdown", (event) => {
        const at = place(event);
        // A finger scrolls the page, and shows what it touches.
        if (event.pointerType !== "mouse" && !this.selecting) this.point(this.nearest(at));
        else if (event.button === 0) {
          from = at;
          element.setPointerCapture(event.pointerId);
        }
      });
      element.addEventListener("pointerup", (event) => {
        const [start, end] = [from, place(event)];
        from = null;
        this.over.replaceChildren();
        if (!start) return;
        if (Math.hypot(end.x - start.x, end.y - start.y) > 6) this.dropped(start, end);
        else if (this.selecting) select(null);
      });
      element.addEventListener("dblclick", () => (this.selecting ? select(null) : this.setZoom(null, null)));
      element.addEventListener("keydown", (event) => this.key(event));
      element.addEventListener("blur", () => this.point(null));
    }

    nearest({ x, y }) {
      const bars = this.hits.filter(({ rect: b }) => b && x >= b.left && x <= b.right);
      const above = bars.find(({ rect: b }) => y >= b.top - 3 && y <= b.bottom + 3);
      if (above) return above;
      let found = null;
      let least = NEAR_PX;
      for (const hit of this.hits) {
        if (hit.x < this.box.left - 2 || hit.x > this.box.right + 2) continue;
        const far = Math.hypot(hit.x - x, hit.y - y);
        if (far < least) [found, least] = [hit, far];
      }
      return found;
    }

    // Shows a value: its series, both coordinates, its interval, and what its label says.
    point(hit) {
      this.pointed = hit;
      this.tip.hidden = !hit;
      if (!hit) {
        this.over.replaceChildren();
        return;
      }
      const series = this.chart.series[hit.series];
      const { x, y } = this.chart;
      const lines = [`${x.label || "at"}: ${show(series.x[hit.i])}`];
      const ends = series.lo && series.hi;
      if (series.kind === "range") lines.push(`${y.label}`);
      else if (series.kind === "span") lines.push(`${y.label}: ${show(series.lo[hit.i])} to ${show(series.y[hit.i])}`);
      else lines.push(`${y.label}: ${show(series.y[hit.i])}`);
      if (ends && series.kind !== "span") {
        lines.push(`from ${show(series.lo[hit.i])} to ${show(series.hi[hit.i])}`);
      }
      if (series.labels) lines.push(...series.labels[hit.i].split("\n"));
      const name = document.createElement("b");
      name.textContent = series.name;
      const rows = lines.map((text) => Object.assign(document.createElement("span"), { textContent: text }));
      this.tip.replaceChildren(name, ...rows);
      const colours = palette();
      this.over.innerHTML = hit.rect
        ? bar(hit.rect, `fill="none" stroke="${colours.ink}" stroke-width="1.5"`)
        : `<circle cx="${r(hit.x)}" cy="${r(hit.y)}" r="6" fill="none" stroke="${colours.ink}" stroke-width="1.5"/>`;
      const { width, height } = this.size();
      const { offsetWidth: wide, offsetHeight: high } = this.tip;
      const left = hit.x + 14 + wide < width ? hit.x + 14 : Math.max(0, Math.min(hit.x - wide - 14, width - wide));
      this.tip.style.left = `${left}px`;
      this.tip.style.top = `${Math.max(0, Math.min(hit.y - high - 10, height - high))}px`;
    }

    key(event) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const other = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") {
        this.setZoom(null, null);
        select(null);
      }
      if ((!step && !other) || !this.hits.length) return;
      event.preventDefault();
      const now = this.pointed ? this.hits.indexOf(this.pointed) : -1;
      if (step || now < 0) {
        this.point(this.hits[(now + (step || 1) + this.hits.length) % this.hits.length]);
        return;
      }
      const all = [...new Set(this.hits.map((hit) => hit.series))];
      const wanted = all[(all.indexOf(this.pointed.series) + other + all.length) % all.length];
      const of = this.hits.filter((hit) => hit.series === wanted);
      this.point(of.reduce((a, b) => (Math.abs(a.x - this.pointed.x) <= Math.abs(b.x - this.pointed.x) ? a : b)));
    }

    drag(start, end) {
      this.tip.hidden = true;
      const { left, top, wide, high } = this.dragged(start, end);
      const look = `fill="${palette().ink}" fill-opacity="0.1" stroke="${palette().ink}" stroke-dasharray="3 3"`;
      this.over.innerHTML = bar({ left, top, right: left + wide, bottom: top + high }, look);
    }

    dragged(start, end) {
      const [left, right] = [start.x, end.x].map((px) => Math.min(Math.max(px, this.box.left), this.box.right)).sort((a, b) => a - b);
      let [top, bottom] = [start.y, end.y].map((px) => Math.min(Math.max(px, this.box.top), this.box.bottom)).sort((a, b) => a - b);
      // A drag along one axis means that one alone.
      if (!this.selecting && bottom - top < 12) [top, bottom] = [this.box.top, this.box.bottom];
      return { left, top, wide: right - left, high: bottom - top };
    }

    dropped(start, end) {
      const { left, top, wide, high } = this.dragged(start, end);
      if (this.selecting) {
        const inside = this.hits.filter((hit) => hit.x >= left && hit.x <= left + wide && hit.y >= top && hit.y <= top + high);
        const keys = inside.map((hit) => (this.chart.series[hit.series].keys || [])[hit.i]);
        select(new Set(keys.filter((key) => key !== undefined)));
        return;
      }
      if (wide < 4 || high < 4) return;
      const { x, y } = this.scales;
      const whole = high >= this.box.bottom - this.box.top - 1;
      if (this.chart.stacked || this.chart.across) this.setZoom(null, [x.invert(left), x.invert(left + wide)]);
      else {
        const over = x.type === "names" ? null : [x.invert(left), x.invert(left + wide)];
        this.setZoom(over, whole ? this.zoom.y : [y.invert(top + high), y.invert(top)]);
      }
    }

    print(width) {
      this.paper = width;
      this.draw();
    }
  }

  const redraw = () => plots.forEach((plot) => plot.draw());

  // A legend that only tells: the mark and the name of each series.
  const legend = (element, series) => {
    const keys = series.map(({ name, kind, colour, dashed }) => {
      const key = document.createElement("span");
      const mark = document.createElement("i");
      mark.className = dashed ? `${kind} dashed` : kind;
      mark.style.color = Charts.shade(colour, palette());
      key.append(mark, name);
      return key;
    });
    element.replaceChildren(...keys);
  };

  return { Plot, legend, select, redraw, onSelect: (listener) => listeners.push(listener) };
})();
