// Charts as SVG: lines, bars, points and spans over axes of numbers, of logarithms, or of names.
//
// `Charts.render` makes the text of a picture from a chart's description (docs/report.md), so the same code draws on the
// screen, on paper and into files. plots.js puts such a picture on a page.
"use strict";

const Charts = (() => {
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif";
  const LIGHT = { paper: "#ffffff", ink: "#222222", faint: "#5f5f5f", grid: "#e6e6e6", axis: "#999999" };
  const DARK = { paper: "#15181b", ink: "#e8e8e8", faint: "#a9adb1", grid: "#30353a", axis: "#6b7177" };
  const MOST_MARKED = 40; // Points are marked on lines that have few.
  const CONTRAST = 3; // Of a series with the paper, where the paper is dark.

  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const palette = () => (isDark() ? DARK : LIGHT);

  // Colours ---------------------------------------------------------------------------------------------------------

  const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map((c) => (c <= 10 ? c / 3295 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };

  // On dark paper a dark colour is mixed with white until it can be told from it.
  const shade = (colour, colours) => {
    let found = colour;
    if (colours !== DARK) return found;
    while ((luminance(found) + 0.05) / (luminance(colours.paper) + 0.05) < CONTRAST) {
      const mixed = channels(found).map((c) => Math.round(c + 0.15 * (255 - c) + 0.5));
      found = `#${mixed.map((c) => Math.min(c, 255).toString(16).padStart(2, "0")).join("")}`;
    }
    return found;
  };

  // Text ------------------------------------------------------------------------------------------------------------

  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const pen = document.createElement("canvas").getContext("2d");
  const widthOf = (text, size = 12) => {
    pen.font = `${size}px ${FONT}`;
    return pen.measureText(text).width;
  };
  const cut = (text, width, size = 12) => {
    if (widthOf(text, size) <= width) return text;
    let most = text.length;
    while (most > 1 && widthOf(`${text.slice(0, most)}…`, size) > width) most -= Math.ceil(most / 20);
    return `${text.slice(0, most)}…`;
  };
  const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
  const show = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "string") return value;
    const size = Math.abs(value);
    return size && (size < 1e-6 || size >= 1e12) ? value.toExponential(3).replace(/\.?0+e/, "e") : plain.format(value);
  };
  const power = (exponent) => `10${[...String(exponent)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;

  // Axes ------------------------------------------------------------------------------------------------------------

  // `range` is in the numbers of the axis, `from` and `to` are pixels.
  const linear = ([low, high], from, to) => {
    const step = niceStep(high - low, Math.max(2, Math.abs(to - from) / (to > from ? 90 : 45)));
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) {
      const value = Number((k * step).toPrecision(12));
      ticks.push({ value, label: show(value) });
    }
    return {
      type: "linear", range: [low, high], ticks,
      at: (value) => from + ((value - low) / (high - low)) * (to - from),
      invert: (px) => low + ((px - from) / (to - from)) * (high - low),
    };
  };

  const niceStep = (span, most) => {
    const rough = span / most;
    const decade = 10 ** Math.floor(Math.log10(rough));
    return decade * [1, 2, 5, 10].find((each) => each * decade >= rough * 0.999);
  };

  const logarithmic = ([low, high], from, to) => {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    const room = Math.abs(to - from) / (to > from ? 60 : 30);
    const decades = b - a;
    const ticks = [];
    const every = Math.max(1, Math.ceil(decades / room));
    const within = decades < 0.7 ? null : decades * 3 <= room ? [1, 2, 5] : [1];
    if (within) {
      for (let e = Math.floor(a); e <= Math.ceil(b); e += 1) {
        for (let digit = 1; digit < 10; digit += 1) {
          const value = Number(`${digit}e${e}`);
          if (value < low * 0.9999 || value > high * 1.0001) continue;
          const labelled = within.includes(digit) && (digit > 1 || (((e % every) + every) % every) === 0);
          const label = e < -5 || e > 8 ? (digit === 1 ? power(e) : `${digit}·${power(e)}`) : show(value);
          if (labelled || every === 1) ticks.push({ value, label: labelled ? label : "", minor: !labelled });
        }
      }
    } else {
      ticks.push(...linear([low, high], from, to).ticks);
    }
    return {
      type: "log", range: [low, high], ticks,
      at: (value) => (value > 0 ? from + ((Math.log10(value) - a) / (b - a)) * (to - from) : NaN),
      invert: (px) => 10 ** (a + ((px - from) / (to - from)) * (b - a)),
    };
  };

  const named = (names, from, to) => {
    const band = (to - from) / Math.max(1, names.length);
    const places = new Map(names.map((name, i) => [name, from + (i + 0.5) * band]));
    return {
      type: "names", band, range: null, at: (name) => places.get(name), invert: () => null,
      ticks: names.map((name) => ({ value: name, label: name })),
    };
  };

  const isNumber = (value) => typeof value === "number";
  const numbers = (...lists) => lists.flatMap((list) => (list || []).filter(isNumber));

  // `from` and `to` are the ends that a chart asks for; values say the others.
  const rangeOf = (values, { log, zero, from, to }) => {
    const [low, high] = extentOf(values, { log, zero, from });
    const ends = [from ?? low, to ?? high].map((end, i) => (log && end <= 0 ? [low, high][i] : end));
    return ends[0] < ends[1] ? ends : [low, high];
  };

  const extentOf = (values, { log, zero, from }) => {
    const known = log ? values.filter((value) => value > 0) : values;
    let [low, high] = known.length ? [Infinity, -Infinity] : [log ? 1 : 0, log ? 10 : 1];
    for (const value of known) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (log) {
      const pad = zero || low === high ? 2 : 1.1;
      return [low / pad, Math.max(high * (zero ? 1.3 : 1.1), from > 0 ? 2 * from : 0)];
    }
    if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    const pad = low === high ? Math.abs(low) / 2 || 1 : 0.04 * (high - low);
    return [zero && low === 0 ? 0 : low - pad, zero && high === 0 ? 0 : high + pad];
  };

  const namesOf = (chart, shown) => {
    const told = chart.series.flatMap((series, i) => (shown[i] ? series.x : [])).filter((x) => !isNumber(x));
    return [...new Set([...(chart.names || []).filter((name) => told.includes(name)), ...told])];
  };

  // A picture -------------------------------------------------------------------------------------------------------

  // `view`: `log`, `shown` and `zoom` as a `Plot` has them, `selected` keys or null. Returns its `svg`, the places (`hits`)
  // of its values, and its axes.
  const render = (chart, view, { width, height }, colours, id, head = 0) => {
    const seen = chart.series.map((series, i) => ({ ...series, i, colour: shade(series.colour, colours) }));
    const drawn = seen.filter((series) => view.shown[series.i]);
    const across = chart.stacked || chart.across; // Names stand on the vertical axis.
    const marks = chart.marks || [];
    const names = namesOf(chart, view.shown);
    const bars = drawn.filter((series) => series.kind === "bar");
    const values = numbers(...drawn.flatMap((series) => [series.y, series.lo, series.hi]), marks.filter(({ axis, text }) => axis === "y" && !text).map(({ value }) => value));
    if (chart.stacked) values.push(0, ...Object.values(sums(drawn)));
    const valueLog = view.log.y && !chart.stacked;
    const range = view.zoom.y || rangeOf(values, { log: valueLog, zero: bars.length > 0 || chart.stacked, from: chart.y.from, to: chart.y.to });
    const makeValue = valueLog ? logarithmic : linear;

    // Margins, by what stands in them.
    const room = across ? names : makeValue(range, height, 0).ticks.map((tick) => tick.label);
    const widest = Math.max(0, ...room.map((text) => widthOf(text)));
    const left = Math.min(widest + 10, 0.36 * width);
    const right = width - 16;
    let tilt = 0;
    if (!across && names.length) {
      const band = (right - left) / names.length;
      const longest = Math.max(...names.map((name) => widthOf(name)));
      tilt = longest > band - 6 ? Math.min(longest, 110) : 0;
    }
    const title = across ? chart.y.label : chart.x.label;
    const top = head + 8;
    const bottom = height - (title ? 44 : 26) - (tilt ? 0.7 * tilt - 4 : 0);

    let x;
    let y;
    if (across) {
      x = makeValue(range, left, right);
      y = named(names, top, bottom);
    } else {
      const xs = numbers(...drawn.map((series) => series.x));
      const span = { log: view.log.x, from: chart.x.from, to: chart.x.to };
      const makeX = view.log.x ? logarithmic : linear;
      x = names.length ? named(names, left, right) : makeX(view.zoom.x || rangeOf(xs, span), left, right);
      y = makeValue(range, bottom, top);
    }

    const parts = [];
    const line = (x1, y1, x2, y2, stroke, more = "") =>
      parts.push(`<line x1="${r(x1)}" y1="${r(y1)}" x2="${r(x2)}" y2="${r(y2)}" stroke="${stroke}" ${more}/>`);
    const text = (at, down, words, more = "") =>
      parts.push(`<text x="${r(at)}" y="${r(down)}" ${more}>${escape(words)}</text>`);
    const inside = (px, low, high) => px >= low - 0.5 && px <= high + 0.5;

    for (const tick of x.ticks) {
      const at = x.at(tick.value);
      if (!inside(at, left, right)) continue;
      if (x.type !== "names") line(at, top, at, bottom, colours.grid, tick.minor ? 'stroke-opacity="0.5"' : "");
      if (!tick.label) continue;
      const label = cut(tick.label, tilt || Infinity);
      const turned = `text-anchor="end" transform="rotate(-40 ${r(at + 4)} ${r(bottom + 14)})"`;
      text(tilt ? at + 4 : at, bottom + (tilt ? 14 : 17), label, tilt ? turned : 'text-anchor="middle"');
    }
    for (const tick of y.ticks) {
      const at = y.at(tick.value);
      if (!inside(at, top, bottom)) continue;
      if (y.type !== "names") line(left, at, right, at, colours.grid, tick.minor ? 'stroke-opacity="0.5"' : "");
      if (tick.label) text(left - 6, at + 4, cut(tick.label, left - 8), 'text-anchor="end"');
    }
    line(left, bottom, right, bottom, colours.axis);
    if (across) line(left, top, left, bottom, colours.axis);
    if (title) text((left + right) / 2, height - 6, cut(title, right - left, 13), 'text-anchor="middle" font-size="13"');
    for (const { value, text: said, axis } of marks) {
      const upright = (axis === "x") !== Boolean(across);
      const at = (upright ? x : y).at(value);
      if (!inside(at, ...(upright ? [left, right] : [top, bottom]))) continue;
      const ends = upright ? [at, top, at, bottom] : [left, at, right, at];
      line(...ends, colours.faint, said ? 'stroke-opacity="0.6" stroke-dasharray="2 4"' : 'stroke-dasharray="5 4"');
      if (said && upright) text(at - 4, bottom - 6, said, `font-size="10" transform="rotate(-90 ${r(at - 4)} ${r(bottom - 6)})"`);
      else if (said) text(right, at - 3, said, 'text-anchor="end" font-size="10"');
    }

    const hits = [];
    const box = { left, right, top, bottom };
    const scales = { x, y };
    parts.push(`<g clip-path="url(#${id})">`);
    const reached = {};
    const band = (across ? y : x).band;
    const place = (series) => (chart.exclusive ? placed(band, 0, 1) : placed(band || 24, bars.indexOf(series), bars.length));
    // What was published stands behind everything else.
    const behind = ({ kind }) => Number(kind === "range");
    for (const series of [...drawn].sort((a, b) => behind(b) - behind(a))) {
      parts.push(`<g class="series" data-series="${series.i}">`);
      const fades = (i) => view.selected && series.keys && !view.selected.has(series.keys[i]);
      const mark = (i, hit) => hits.push({ series: series.i, i, ...hit });
      if (chart.stacked) {
        drawAcross(series, scales, reached, colours, parts, mark);
      } else if (series.kind === "range") {
        drawRanges(series, scales, band, across, colours, parts, mark);
      } else if (series.kind === "bar") {
        drawBars(series, place(series), scales, box, across, parts, mark);
      } else {
        if (series.band && series.lo && series.hi) drawBand(series, scales, parts);
        drawLine(series, scales, across, colours, parts, mark, fades);
      }
      if (series.lo && series.hi && !["span", "range"].includes(series.kind)) {
        drawWhiskers(series, place(series), scales, across, colours, parts, fades);
      }
      parts.push("</g>");
    }
    parts.push("</g>");
    const defs = `<defs><clipPath id="${id}"><rect x="${r(left - 1)}" y="${r(top - 6)}" width="${r(right - left + 8)}" height="${r(bottom - top + 7)}"/></clipPath></defs>`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT}" font-size="12" fill="${colours.faint}">${defs}${parts.join("")}`;
    return { svg, hits, scales, box };
  };

  const r = (value) => Math.round(value * 10) / 10;

  const sums = (drawn) => {
    const found = {};
    for (const series of drawn) {
      if (series.kind !== "bar") continue;
      series.x.forEach((name, i) => (found[name] = (found[name] || 0) + (series.y[i] || 0)));
    }
    return found;
  };

  // Bars end to end, or spans from `lo` to `y`; patterns of `dashed` ones tell them apart without colour.
  const drawAcross = (series, { x, y }, reached, colours, parts, mark) => {
    series.x.forEach((name, i) => {
      const value = series.y[i];
      if (value === null) return;
      const from = series.kind === "span" ? series.lo[i] : reached[name] || 0;
      const to = series.kind === "span" ? value : from + value;
      reached[name] = to;
      const high = Math.min(0.72 * y.band, 34);
      const rect = { left: x.at(from), right: x.at(to), top: y.at(name) - high / 2, bottom: y.at(name) + high / 2 };
      const look = series.dashed
        ? `fill="${series.colour}" fill-opacity="0.25" stroke="${series.colour}" stroke-dasharray="4 3"`
        : `fill="${series.colour}" stroke="${colours.paper}" stroke-width="0.7"`;
      parts.push(bar(rect, look));
      mark(i, { x: (rect.left + rect.right) / 2, y: y.at(name), rect });
    });
  };

  const bar = ({ left, right, top, bottom }, look) =>
    `<rect class="bar" x="${r(left)}" y="${r(top)}" width="${r(Math.max(right - left, 0.5))}" height="${r(Math.max(bottom - top, 0.5))}" ${look}/>`;

  const placed = (band, n, count) => ({ left: -0.375 * band + (0.75 * band * n) / count, wide: (0.75 * band) / count });

  // A box from values `a` to `b` and, along names, from `from` on, whichever of them stand on which axis.
  const boxed = (across, from, wide, a, b) => {
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    return across ? { left: low, right: high, top: from, bottom: from + wide } : { left: from, right: from + wide, top: low, bottom: high };
  };

  const drawBars = (series, { left, wide }, { x, y }, box, across, parts, mark) => {
    const [names, values] = across ? [y, x] : [x, y];
    const logFoot = across ? box.left : box.bottom;
    const foot = values.type === "log" ? logFoot : values.at(Math.min(Math.max(0, values.range[0]), values.range[1]));
    series.x.forEach((name, i) => {
      const head = series.y[i] === null ? NaN : values.at(series.y[i]);
      if (Number.isNaN(head)) return;
      const from = names.at(name) + left;
      const rect = boxed(across, from, wide, head, foot);
      parts.push(bar(rect, `fill="${series.colour}"`));
      mark(i, across ? { x: head, y: from + wide / 2, rect } : { x: from + wide / 2, y: head, rect });
    });
  };

  // What was published of a category, from where to where; a line where both are one number.
  const drawRanges = (series, { x, y }, band, across, colours, parts, mark) => {
    const [names, values] = across ? [y, x] : [x, y];
    series.x.forEach((name, i) => {
      if (series.lo[i] === null || series.hi[i] === null) return;
      const rect = boxed(across, names.at(name) - 0.44 * band, 0.88 * band, values.at(series.lo[i]), values.at(series.hi[i]));
      parts.push(bar(rect, `fill="${colours.faint}" fill-opacity="0.2" stroke="${colours.faint}"`));
      mark(i, { x: (rect.left + rect.right) / 2, y: (rect.top + rect.bottom) / 2, rect });
    });
  };

  // A piece for each stretch of the line; points that stand alone have whiskers instead.
  const drawBand = (series, { x, y }, parts) => {
    const draw = (piece) => {
      const at = (side) => piece.map((i) => `${r(x.at(series.x[i]))},${r(y.at(side[i]))}`);
      const points = [...at(series.lo), ...at(series.hi).reverse()].join(" ");
      parts.push(`<polygon class="band" points="${points}" fill="${series.colour}" fill-opacity="0.18"/>`);
    };
    let piece = [];
    series.x.forEach((value, i) => {
      const ends = [series.lo[i], series.hi[i]];
      const known = !ends.includes(null) && ![x.at(value), ...ends.map(y.at)].some(Number.isNaN);
      if (known && !standsAlone(series, i)) piece.push(i);
      if (piece.length && piece.at(-1) !== i) {
        draw(piece);
        piece = [];
      }
    });
    if (piece.length) draw(piece);
  };

  const standsAlone = (series, i) => Boolean(series.alone && series.alone[i]);
  const isHollow = (series, i) => Boolean(series.hollow && series.hollow[i]);

  // The shape of a point around a place.
  const shapes = {
    square: (s) => `M${-s} ${-s}h${2 * s}v${2 * s}h${-2 * s}z`,
    diamond: (s) => `M0 ${-1.3 * s}L${1.3 * s} 0L0 ${1.3 * s}L${-1.3 * s} 0z`,
    triangle: (s) => `M0 ${-1.2 * s}L${1.1 * s} ${0.9 * s}H${-1.1 * s}z`,
    down: (s) => `M0 ${1.2 * s}L${1.1 * s} ${-0.9 * s}H${-1.1 * s}z`,
    cross: (s) => `M${-s} ${-s}L${s} ${s}M${-s} ${s}L${s} ${-s}`,
  };
  const pointAt = (shape, px, py, size, look) =>
    shapes[shape]
      ? `<path class="point" d="${shapes[shape](size)}" transform="translate(${r(px)} ${r(py)})" ${look}/>`
      : `<circle class="point" cx="${r(px)}" cy="${r(py)}" r="${size}" ${look}/>`;

  const drawLine = (series, { x, y }, across, colours, parts, mark, fades) => {
    const places = series.x.map((value, i) => {
      if (series.y[i] === null) return [NaN, NaN];
      return across ? [x.at(series.y[i]), y.at(value)] : [x.at(value), y.at(series.y[i])];
    });
    if (series.kind === "line") {
      let path = "";
      let dashes = ""; // To hollow points.
      let before = null;
      for (const [i, [px, py]] of places.entries()) {
        if (Number.isNaN(px) || Number.isNaN(py)) {
          before = null;
          continue;
        }
        const to = series.steps ? `H${r(px)}V${r(py)}` : `L${r(px)} ${r(py)}`;
        const joined = before && !standsAlone(series, i) && !standsAlone(series, i - 1);
        const whole = joined && !isHollow(series, i) && !isHollow(series, i - 1);
        path += whole ? to : `M${r(px)} ${r(py)}`;
        if (joined && !whole) dashes += `M${r(before[0])} ${r(before[1])}${to}`;
        before = [px, py];
        mark(i, { x: px, y: py });
      }
      const pale = series.pale ? ' stroke-opacity="0.5"' : "";
      const line = (d, dash) =>
        parts.push(`<path class="line" d="${d}" fill="none" stroke="${series.colour}" stroke-width="2"${dash}${pale}/>`);
      const dash = ' stroke-dasharray="6 4"';
      line(path, series.dashed ? dash : "");
      if (dashes) line(dashes, dash);
      const few = places.length <= MOST_MARKED && !series.steps && !series.dashed;
      if (series.marker === "none" || (!few && (!series.marker || !series.hollow))) return;
    }
    const size = series.kind === "points" ? 4.5 : 2.5;
    places.forEach(([px, py], i) => {
      if (Number.isNaN(px) || Number.isNaN(py)) return;
      const rim = series.kind === "points" ? ` stroke="${colours.paper}" stroke-width="0.8"` : "";
      const outline = series.marker === "cross" || isHollow(series, i);
      const inner = series.kind === "points" ? "none" : colours.paper;
      const fill = outline ? `fill="${inner}" stroke="${series.colour}" stroke-width="1.4"` : `fill="${series.colour}"${rim}`;
      const faded = fades(i) ? ' opacity="0.13"' : series.pale ? ' opacity="0.5"' : "";
      parts.push(pointAt(series.marker, px, py, size, fill + faded));
      if (series.kind === "points") mark(i, { x: px, y: py });
    });
  };

  const drawWhiskers = (series, place, { x, y }, across, colours, parts, fades) => {
    const { left, wide } = series.kind === "bar" ? place : { left: 0, wide: 0 };
    const [names, values] = across ? [y, x] : [x, y];
    const foot = values.type === "log" ? values.at(values.range[0]) : NaN;
    const colour = series.kind === "bar" ? colours.ink : series.colour;
    series.x.forEach((at, i) => {
      const [lo, hi] = [series.lo[i], series.hi[i]];
      if (lo === null || hi === null || series.y[i] === null || lo === hi) return;
      if (series.band && !standsAlone(series, i)) return;
      const px = names.at(at) + left + wide / 2;
      const [low, high] = [lo, hi].map((end) => (values.type === "log" && end <= 0 ? foot : values.at(end)));
      if (Number.isNaN(px) || Number.isNaN(low) || Number.isNaN(high)) return;
      const faded = fades(i) ? ' opacity="0.13"' : "";
      const path = across
        ? `M${r(low)} ${r(px)}H${r(high)}M${r(low)} ${r(px - 3)}v6M${r(high)} ${r(px - 3)}v6`
        : `M${r(px)} ${r(low)}V${r(high)}M${r(px - 3)} ${r(low)}h6M${r(px - 3)} ${r(high)}h6`;
      parts.push(`<path class="whisker" d="${path}" fill="none" stroke="${colour}"${faded}/>`);
    });
  };

  // Files -----------------------------------------------------------------------------------------------------------

  // A picture with its title, legend and vertical label, on white.
  const picture = (chart, view, { width = 900, height = 480 } = {}) => {
    const told = [];
    let head = 14;
    if (chart.title) {
      head += 18;
      told.push(`<text x="10" y="${head - 8}" font-size="15" font-weight="600" fill="${LIGHT.ink}">${escape(chart.title)}</text>`);
    }
    let at = 10;
    const keys = chart.series.filter((_, i) => view.shown[i] && (chart.series.length > 1 || chart.hollow));
    if (keys.length && chart.hollow) keys.push({ name: chart.hollow });
    if (keys.length) head += 18;
    for (const { name: whole, colour } of keys) {
      const name = cut(whole, width - 40);
      const wide = widthOf(name) + 34;
      if (at > 10 && at + wide > width) [at, head] = [10, head + 18];
      told.push(
        colour
          ? `<rect x="${r(at)}" y="${head - 17}" width="14" height="9" fill="${colour}"/>`
          : `<circle cx="${r(at + 7)}" cy="${head - 12.5}" r="4" fill="none" stroke="${LIGHT.faint}" stroke-width="1.4"/>`,
      );
      told.push(`<text x="${r(at + 19)}" y="${head - 8}" fill="${LIGHT.ink}">${escape(name)}</text>`);
      at += wide;
    }
    if (chart.y.label && !chart.stacked && !chart.across) {
      head += 18;
      told.push(`<text x="10" y="${head - 8}" font-size="13">${escape(chart.y.label)}</text>`);
    }
    const { svg } = render(chart, { ...view, selected: null }, { width, height: height + head }, LIGHT, "clip", head);
    const paper = `<rect width="${width}" height="${height + head}" fill="#ffffff"/>`;
    return `${svg.replace("<defs>", `${paper}<defs>`)}${told.join("")}</svg>`;
  };

  // What a spreadsheet would take for a formula is kept from it.
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (isNumber(value)) return String(value);
    const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (rows) => rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
  const numbersOf = (chart) => {
    const rows = [["series", chart.x.label || "x", chart.y.label || "y", "from", "to", "label"]];
    for (const series of chart.series) {
      series.x.forEach((x, i) => {
        const more = [series.lo, series.hi, series.labels].map((list) => (list ? list[i] : null));
        rows.push([series.name, x, series.y[i], ...more]);
      });
    }
    return csv(rows);
  };

  const save = (name, blob) => {
    const link = document.createElement("a");
    link.download = name;
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const saveText = (name, text, type) => save(name, new Blob([text], { type }));
  const fileName = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart";

  const savePicture = (chart, view, kind) => {
    const svg = picture(chart, view);
    const name = `${fileName(chart.title || "chart")}.${kind}`;
    if (kind === "svg") {
      saveText(name, svg, "image/svg+xml");
      return;
    }
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(name, blob), "image/png");
    };
    image.src = `data:image/svg+xml;base64,${btoa(unescape(encodeURIComponent(svg)))}`;
  };

  return { render, palette, isDark, LIGHT, bar, show, csv, numbersOf, saveText, savePicture, fileName, namesOf, shade };
})();
