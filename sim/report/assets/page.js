// What the page does beyond being read: sorting, filters, CSV files, charts with hover, a light or dark screen.
"use strict";
(() => {
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // The same as sim/report/numbers.cpp.
  const threeDigits = (value) =>
    Math.abs(value) >= 99.95 ? value.toFixed(0) : Math.abs(value) >= 9.995 ? value.toFixed(1) : value.toFixed(2);
  const withPrefix = (value, unit) => {
    const prefixes = ["p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    let step = 4;
    if (value === 0) return "0 " + unit;
    for (; Math.abs(value) < 0.9995 && step > 0; --step) value *= 1000;
    for (; Math.abs(value) >= 999.5 && step + 1 < prefixes.length; ++step) value /= 1000;
    return threeDigits(value) + " " + prefixes[step] + unit;
  };
  const microseconds = (value) => {
    const size = Math.abs(value);
    if (value === 0) return "0 us";
    if (size < 0.9995) return threeDigits(value * 1e3) + " ns";
    if (size < 999.5) return threeDigits(value) + " us";
    return size < 999.5e3 ? threeDigits(value / 1e3) + " ms" : threeDigits(value / 1e6) + " s";
  };
  const binary = (value) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    for (; Math.abs(value) >= 999.5 && unit + 1 < units.length; ++unit) value /= 1024;
    return (unit === 0 ? value.toFixed(0) : threeDigits(value)) + " " + units[unit];
  };
  const format = (value, unit) => {
    if (Array.isArray(value)) return value[1];  // a number with its own text
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (typeof value === "string") return value;
    if (unit === "us") return microseconds(value);
    if (unit === "%") return (100 * value).toFixed(1) + " %";
    if (unit === "iB") return binary(value);
    if (unit === "count") return Math.round(value).toLocaleString("en-US");
    if (unit !== "" && !/[0-9$]$/.test(unit)) return withPrefix(value, unit);
    return fourDigits(value) + (unit && " " + unit);
  };
  const fourDigits = (value) => {
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e5 || size < 1e-4)) return value.toExponential(3).replace(/\.?0+e/, "e");
    return String(Number(value.toPrecision(4)));
  };

  const csvCell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    // As csv_cell() of isa/common/foreign_text.cpp: a spreadsheet takes it for a formula.
    if (typeof value === "string" && /^\s*[=+\-@]/.test(text) && Number.isNaN(Number(text))) text = "'" + text;
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };
  const saveCsv = (name, rows) => {
    const text = rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" })), download: name + ".csv" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const csvButton = (name, label, rows) =>
    make("button", { type: "button", className: "small", textContent: "CSV", title: "Save the data of " + label,
      ariaLabel: "Save the data of " + label + " as a CSV file", onclick: () => saveCsv(name, rows()) });
  const withUnit = (name, unit) => unit && unit !== "text" ? name + ", " + (unit === "%" ? "fraction" : unit) : name;

  // ---- tables

  const kAtOnce = 100;
  const collator = new Intl.Collator("en", { numeric: true });

  const setUpTable = (box) => {
    const data = JSON.parse(box.querySelector("script").textContent);
    const table = box.querySelector("table"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const note = box.querySelector(".count") || box.appendChild(make("p", { className: "faint count" }));
    note.setAttribute("aria-live", "polite");
    const words = data.rows.map((row) => row.map((cell) => (Array.isArray(cell) ? cell[1] : cell)).filter((cell) => typeof cell === "string").join("\n").toLowerCase());
    let order = data.rows.map((_, i) => i), chosen = order, sorted = -1, falling = false, shown = kAtOnce;

    const draw = () => {
      body.replaceChildren(...chosen.slice(0, shown).map((i) => {
        const row = make("tr");
        data.columns.forEach((column, c) => {
          const cell = row.insertCell();
          cell.textContent = format(data.rows[i][c], column.unit);
          if (column.unit !== "text") cell.className = "r";
        });
        return row;
      }));
      const all = chosen.length === data.rows.length ? "" : " of " + data.rows.length.toLocaleString("en-US");
      note.textContent = (shown < chosen.length ? "The first " + shown + " of " : "") + chosen.length.toLocaleString("en-US") +
        (chosen.length === 1 ? " row" : " rows") + (all && " chosen" + all) + ".";
      more.hidden = shown >= chosen.length;
    };
    const choose = () => {
      const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      chosen = wanted.length === 0 ? order : order.filter((i) => wanted.every((word) => words[i].includes(word)));
      shown = kAtOnce;
      draw();
    };
    const sortBy = (c) => {
      falling = sorted === c ? !falling : data.columns[c].unit !== "text";
      sorted = c;
      const value = (i) => (Array.isArray(data.rows[i][c]) ? data.rows[i][c][0] : data.rows[i][c]);
      order = data.rows.map((_, i) => i).sort((a, b) => {
        const x = value(a), y = value(b), empty = (v) => v === null || v === "";
        if (empty(x) || empty(y)) return empty(x) - empty(y) || a - b;  // what is not known comes last
        const by = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(x, y);
        return (falling ? -by : by) || a - b;
      });
      heads.forEach((head, i) => head.setAttribute("aria-sort", i !== c ? "none" : falling ? "descending" : "ascending"));
      choose();
    };

    heads.forEach((head, c) => {
      head.setAttribute("aria-sort", "none");
      head.replaceChildren(make("button", { type: "button", textContent: head.textContent, onclick: () => sortBy(c) }));
    });
    const filter = make("input", { type: "search", id: "filter-" + data.id, placeholder: "words", oninput: choose });
    const label = box.querySelector(".scroll").getAttribute("aria-label");
    const rows = () => [data.columns.map((column) => withUnit(column.name, column.unit)), ...chosen.map((i) => data.rows[i].map((cell) => (Array.isArray(cell) ? cell[1] : cell)))];
    box.prepend(make("div", { className: "tools" }, make("label", { htmlFor: filter.id, textContent: "Filter" }), filter,
      csvButton(data.id, label, rows)));
    const more = make("button", { type: "button", className: "small", textContent: "Show more",
      onclick: () => { shown += 5 * kAtOnce; draw(); } });
    box.append(more);
    draw();
  };

  // ---- charts

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const chartRows = (chart) => {
    if (chart.kind === "plot") {
      return [["series", "point", withUnit(chart.x.name, chart.x.unit), withUnit(chart.y.name, chart.y.unit)]].concat(
        ...chart.series.map((s) => s.y.map((y, i) => [s.name, s.points ? s.points[i] : "", s.x[i], y])));
    }
    const bars = chart.kind === "bars", values = bars ? chart.x : chart.y;
    const first = bars ? chart.labels : chart.series[0].x;
    return [[bars ? chart.y.name : withUnit(chart.x.name, chart.x.unit),
             ...chart.series.map((s) => withUnit(s.name || values.name, values.unit))],
            ...first.map((label, i) => [label, ...chart.series.map((s) => s.y[i])])];
  };
  const shortened = (text, longest) => (text.length <= longest ? text : text.slice(0, longest - 1) + "\u2026");

  const axis = (from, colours, extra) => ({
    type: from.log ? "logarithmic" : "linear", beginAtZero: from.zero,
    title: { display: from.name !== "", text: from.name, color: colours.faint },
    grid: { color: colours.line, borderColor: colours.line },
    ticks: { color: colours.faint, maxRotation: 0, autoSkipPadding: 12,
      callback: function (value) {
        if (!from.log) return format(value, from.unit);
        const decade = Math.log10(value);  // a label for each power of ten
        return Math.abs(decade - Math.round(decade)) < 1e-9 ? format(value, from.unit) : "";
      } },
    ...extra });

  // The value at the end of each row of bars; where that would leave little room for the bars, what stands before its colon.
  const barFont = (narrow) => (narrow ? 10 : 12) + "px system-ui, sans-serif";
  const barText = (chart, row, brief) => {
    if (chart.texts) return brief ? chart.texts[row].split(": ")[0] : chart.texts[row];
    if (chart.series.length > 1 && (chart.stacked || brief)) return "";
    return chart.series.map((s) => format(s.y[row], chart.x.unit)).filter(Boolean).join(", ");
  };
  const barTexts = (chart, colours, narrow, brief) => ({
    id: "texts",
    afterDatasetsDraw: (live) => {
      const context = live.ctx, first = live.getDatasetMeta(0).data;
      context.save();
      context.font = barFont(narrow);
      context.fillStyle = colours.faint;
      context.textBaseline = "middle";
      first.forEach((bar, row) => {
        const ends = live.data.datasets.map((_, s) => live.getDatasetMeta(s).data[row]).filter((b) => b && Number.isFinite(b.x));
        if (ends.length === 0) return;
        const end = Math.max(bar.base, ...ends.map((b) => b.x));
        const middle = chart.stacked ? bar.y : ends.reduce((sum, b) => sum + b.y, 0) / ends.length;
        context.fillText(barText(chart, row, brief), end + 5, middle);
      });
      context.restore();
    },
  });
  // Shares end at the whole, though they may add up to a rounding more.
  const fullOf = (chart) => {
    const sums = chart.labels.map((_, row) => chart.series.map((s) => s.y[row] || 0).reduce((a, b) => (chart.stacked ? a + b : Math.max(a, b)), 0));
    return chart.full && Math.max(...sums) <= chart.full * 1.000001 ? chart.full : undefined;
  };
  const widest = (narrow, texts) => {
    const context = document.createElement("canvas").getContext("2d");
    context.font = barFont(narrow);
    return Math.max(0, ...texts.map((text) => context.measureText(text).width)) + 10;
  };
  const barPadding = (chart, narrow, brief) => widest(narrow, chart.labels.map((_, row) => barText(chart, row, brief)));
  const kTextsAtMost = 0.35;  // of the picture's width

  const barChart = (chart, colours, narrow, width) =>
    barChartWith(chart, colours, narrow, narrow || barPadding(chart, narrow, false) > kTextsAtMost * width);
  const barChartWith = (chart, colours, narrow, brief) => ({
    type: "bar",
    data: { labels: chart.labels.map((label) => shortened(label, narrow ? 16 : 40)),
      datasets: chart.series.map((s) => ({ label: s.name || chart.x.name, data: s.y, backgroundColor: colours.of(s) })) },
    plugins: [barTexts(chart, colours, narrow, brief)],
    options: { indexAxis: "y", layout: { padding: { right: barPadding(chart, narrow, brief) } },
      scales: { x: { ...axis(chart.x, colours), stacked: chart.stacked, max: fullOf(chart), beginAtZero: true },
        y: { stacked: chart.stacked, grid: { display: false, borderColor: colours.line },
          ticks: { color: colours.ink, autoSkip: false, font: { size: narrow ? 10 : 12 } } } },
      interaction: { mode: chart.stacked ? "nearest" : "index", axis: "y", intersect: chart.stacked },
      plugins: { tooltip: { callbacks: {
        title: (items) => (items.length ? chart.labels[items[0].dataIndex] : ""),
        label: (item) => (chart.texts && !chart.stacked && chart.series.length === 1 ? chart.texts[item.dataIndex]
          : item.dataset.label + ": " + format(item.parsed.x, chart.x.unit)) } } } } });

  const stepped = (from, stepSize) => ({ ...from, stacked: true, beginAtZero: true, ticks: { ...from.ticks, stepSize } });
  // Bytes have ticks at powers of two.
  const areaStep = (chart) => {
    if (chart.y.unit !== "iB") return undefined;
    const most = Math.max(...chart.series[0].x.map((_, i) => chart.series.reduce((sum, s) => (s.faint ? Math.max(sum, s.y[i]) : sum + s.y[i]), 0)));
    return most > 0 ? 2 ** Math.ceil(Math.log2(most / 6)) : undefined;
  };
  const areaChart = (chart, colours) => ({
    type: "line",
    data: { datasets: chart.series.map((s) => ({
      label: s.name, data: chart.series[0].x.map((x, i) => ({ x, y: s.y[i] })), stepped: "before", pointRadius: 0, borderWidth: s.faint ? 1.5 : 0,
      borderColor: s.faint ? colours.faint : colours.of(s), backgroundColor: colours.of(s), fill: s.faint ? false : true,
      stack: s.faint ? "limit" : "parts" })) },
    options: { scales: { x: axis(chart.x, colours), y: stepped(axis(chart.y, colours), areaStep(chart)) },
      interaction: { mode: "index", intersect: false },
      plugins: { tooltip: { filter: (item) => item.parsed.y !== 0, callbacks: {
        title: (items) => (items.length ? format(items[0].parsed.x, chart.x.unit) : ""),
        label: (item) => item.dataset.label + ": " + format(item.raw.y, chart.y.unit) } } } } });

  // Points and lines keep off the frame of a logarithmic axis; an axis of one value has room around it.
  const bounds = (from, values) => {
    const shown = values.filter((value) => Number.isFinite(value) && (!from.log || value > 0));
    if (shown.length === 0) return {};
    const least = shown.reduce((a, b) => Math.min(a, b)), most = shown.reduce((a, b) => Math.max(a, b));
    if (from.log) return { min: least / 1.4, max: most * 1.4 };
    return most === least && least !== 0 ? { min: least - 0.1 * Math.abs(least), max: least + 0.1 * Math.abs(least) } : {};
  };
  const plotChart = (chart, colours) => ({
    type: "scatter",
    data: { datasets: chart.series.map((s) => {
      const colour = s.faint ? colours.faint : colours.of(s);
      return { label: s.name, data: s.y.map((y, i) => ({ x: s.x[i], y, name: s.points ? s.points[i] : "" })), showLine: s.line, tension: 0,
        pointRadius: s.line ? (s.points ? 3 : 0) : s.y.length === 1 ? 7 : 4, pointHoverRadius: s.line && !s.points ? 0 : 6, pointHitRadius: s.line && !s.points ? 0 : 4,
        borderWidth: s.line ? (s.faint ? 1 : 2) : s.y.length === 1 ? 2 : 0, borderColor: s.line || s.y.length > 1 ? colour : colours.ink, backgroundColor: s.line && !s.points ? "transparent" : colour + "b3" };
    }) },
    options: { scales: { x: axis(chart.x, colours, bounds(chart.x, chart.series.flatMap((s) => s.x))),
        y: axis(chart.y, colours, bounds(chart.y, chart.series.flatMap((s) => s.y))) },
      interaction: { mode: "nearest", intersect: true },
      plugins: { tooltip: { callbacks: {
        title: (items) => items.map((item) => item.raw.name || item.dataset.label).slice(0, 1),
        label: (item) => [item.raw.name ? item.dataset.label : "", chart.x.name + ": " + format(item.raw.x, chart.x.unit),
          chart.y.name + ": " + format(item.raw.y, chart.y.unit)].filter(Boolean) } } } } });

  const drawers = { bars: barChart, areas: areaChart, plot: plotChart };
  const drawn = [];
  const drawChart = (entry) => {
    const colours = { ink: style("--ink"), faint: style("--faint"), line: style("--line"), of: (series) => style("--c" + series.colour) };
    const narrow = entry.plot.clientWidth < 480;
    const config = drawers[entry.chart.kind](entry.chart, colours, narrow, entry.plot.clientWidth);
    config.options.animation = false;
    config.options.responsive = true;
    config.options.maintainAspectRatio = false;
    config.options.plugins.legend = { display: false };
    if (entry.live) entry.live.destroy();
    entry.live = new Chart(entry.canvas, config);
  };
  const setUpChart = (figure) => {
    const chart = JSON.parse(figure.querySelector(":scope > script").textContent), name = figure.id.replace(/^chart-/, "");
    const plot = figure.querySelector(".plot");
    figure.querySelector("figcaption").append(csvButton(name, chart.title, () => chartRows(chart)));
    if (typeof Chart === "undefined" || !drawers[chart.kind]) return;
    const canvas = make("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", chart.title + ". The data stand below as a table.");
    const rows = chart.kind === "bars" ? chart.labels.length * (chart.stacked ? 1 : Math.max(1, 0.7 * chart.series.length)) : 0;
    plot.style.height = (rows ? 60 + 26 * Math.max(rows, 2) : 340) + "px";
    plot.classList.add("drawn");
    plot.append(canvas);
    const entry = { chart, plot, canvas, live: null };
    drawn.push(entry);
    drawChart(entry);
  };

  // ---- light and dark

  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const remember = (theme) => { try { localStorage.setItem("heddle-theme", theme); } catch (ignored) { /* not allowed from here */ } };
  const theme = make("button", { type: "button", id: "theme", className: "small" });
  const nameTheme = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.ariaLabel = "Switch to a " + (isDark() ? "light" : "dark") + " page";
  };
  const redraw = () => { nameTheme(); drawn.forEach(drawChart); };
  theme.onclick = () => { root.dataset.theme = isDark() ? "light" : "dark"; remember(root.dataset.theme); redraw(); };
  system.addEventListener("change", redraw);
  try {
    const kept = localStorage.getItem("heddle-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch (ignored) { /* not allowed from here */ }
  document.querySelector("header").append(theme);
  nameTheme();

  document.querySelectorAll(".data-table").forEach(setUpTable);
  document.querySelectorAll("figure.chart").forEach(setUpChart);
})();
