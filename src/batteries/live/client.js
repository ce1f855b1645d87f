// Runs in the browser, inside the live page. What comes from the server is only ever put into text.

const maxRows = 200;
const maxBeats = 120;
const $ = (id) => document.getElementById(id);

/** An element with attributes; children are elements or text. */
function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) if (value !== null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function svg(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// Numbers, as people read them.

const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} µs`;
  if (value < 1000) return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
}

function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const count = (value) => (value >= 10_000 ? `${(value / 1000).toFixed(1)}k` : String(Math.round(value)));

function ago(from) {
  const seconds = Math.max(0, Math.floor((Date.now() - from) / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

// Charts.

const [width, height] = [600, 120];
const steps = [1, 2, 5, 10];

/** The next round number above. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return (steps.find((step) => step * power >= value) ?? 10) * power;
}

const charts = [
  {
    card: $("requests-card"),
    // No line along the bottom where nothing fails.
    lines: [(beat) => beat.requests, (beat) => beat.errors || null],
    least: 5,
    format: count,
    value: (beat) => count(beat.requests),
    filled: [0, 1],
  },
  {
    card: $("latency-card"),
    lines: [(beat) => beat.p50, (beat) => beat.p95, (beat) => beat.p99],
    least: 1,
    format: milliseconds,
    value: (beat) => milliseconds(beat.p95),
    filled: [1],
  },
  {
    card: $("memory-card"),
    lines: [(beat) => beat.rss, (beat) => beat.heap],
    least: 1e6,
    format: bytes,
    value: (beat) => bytes(beat.rss),
    filled: [0, 1],
  },
  {
    card: $("loop-card"),
    lines: [(beat) => beat.lag],
    least: 5,
    format: milliseconds,
    value: (beat) => milliseconds(beat.lag),
    about: (beat) => `delay · ${Math.round(beat.busy * 100)}% busy`,
    filled: [0],
  },
];

let beats = [];
/** The second the pointer is at; null for the last. */
let pointed = null;

const x = (index) => ((index + maxBeats - beats.length) / (maxBeats - 1)) * width;

/** Path data of a line; where a value is missing the line has a gap. */
function lineOf(values, y, toBottom) {
  let path = "";
  let start = -1;
  values.forEach((value, index) => {
    if (value !== null) {
      path += `${start === -1 ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
      if (start === -1) start = index;
    }
    if (start !== -1 && (value === null || index === values.length - 1)) {
      const end = value === null ? index - 1 : index;
      // A second on its own would be a line without length.
      if (end === start) path += `h${(width / maxBeats / 2).toFixed(1)}`;
      if (toBottom) path += `L${x(end).toFixed(1)} ${height}L${x(start).toFixed(1)} ${height}Z`;
      start = -1;
    }
  });
  return path;
}

function draw(chart) {
  const { card, lines, least, format, filled } = chart;
  const beat = beats[pointed ?? beats.length - 1];
  if (!beat) return;
  const columns = lines.map((line) => beats.map(line));
  const top = roundUp(Math.max(least, ...columns.flat().filter((value) => value !== null)));
  const y = (value) => height - (value / top) * (height - 6);
  const parts = [svg("line", { class: "rule", x1: 0, x2: width, y1: 6, y2: 6 })];
  columns.forEach((values, i) => {
    if (filled.includes(i)) parts.push(svg("path", { class: `area line${i}`, d: lineOf(values, y, true) }));
    parts.push(svg("path", { class: `stroke line${i}`, d: lineOf(values, y, false) }));
  });
  if (pointed !== null) parts.push(svg("line", { class: "cursor", x1: x(pointed), x2: x(pointed), y1: 0, y2: height }));
  card.querySelector("svg").replaceChildren(...parts);
  card.querySelector(".top").textContent = format(top);
  card.querySelector(".value b").textContent = chart.value(beat);
  if (chart.about) card.querySelector(".value span").textContent = chart.about(beat);
  for (const legend of card.querySelectorAll("[data-line]")) {
    legend.textContent = format(lines[legend.dataset.line](beat));
  }
}

function drawAll() {
  for (const chart of charts) draw(chart);
}

for (const { card } of charts) {
  const figure = card.querySelector("figure");
  figure.addEventListener("pointermove", (event) => {
    const box = figure.getBoundingClientRect();
    const index = Math.round(((event.clientX - box.left) / box.width) * (maxBeats - 1)) - (maxBeats - beats.length);
    pointed = index >= 0 && index < beats.length ? index : null;
    const tip = $("tip");
    tip.hidden = pointed === null;
    if (pointed !== null) {
      tip.textContent = time.format(beats[pointed].at);
      tip.style.left = `${Math.min(event.clientX + 12, innerWidth - 90)}px`;
      tip.style.top = `${event.clientY - 34}px`;
    }
    drawAll();
  });
  figure.addEventListener("pointerleave", () => {
    pointed = null;
    $("tip").hidden = true;
    drawAll();
  });
}

// Requests.

let requests = [];
let answered = 0;
let opened = null;
const filter = { status: "", text: "" };

function matches(request) {
  if (request.missed) return filter.status === "" && filter.text === "";
  if (filter.status !== "" && !String(request.status).startsWith(filter.status)) return false;
  const text = `${request.method} ${request.path} ${request.pattern ?? ""} ${request.id ?? ""}`.toLowerCase();
  return text.includes(filter.text);
}

function rowOf(request, isNew) {
  if (request.missed) {
    const text = `${request.missed} more, too fast to show`;
    return h("tr", { class: "missed" }, h("td", { colspan: 6 }, text));
  }
  const bar = h("i", { class: request.ms >= 500 ? "slow" : null });
  // From a millisecond on, a step for each doubling.
  bar.style.width = `${Math.min(5, Math.log2(Math.max(request.ms, 1)) * 0.45)}rem`;
  const path = h("button", { type: "button", "aria-expanded": "false", title: request.path }, request.path);
  const row = h(
    "tr",
    { class: isNew ? "request new" : "request" },
    h("td", { class: "time" }, time.format(request.at)),
    h("td", {}, h("span", { class: `method ${request.method}` }, request.method)),
    h("td", { class: "path" }, path),
    h("td", {}, h("span", { class: `badge s${String(request.status)[0]}` }, String(request.status))),
    h("td", { class: "number duration" }, milliseconds(request.ms), bar),
    h("td", { class: "number size" }, request.size === null ? "stream" : bytes(request.size)),
  );
  row.addEventListener("click", () => toggle(request, row));
  if (opened === request.n) show(request, row);
  return row;
}

function toggle(request, row) {
  const wasOpen = opened === request.n;
  document.querySelector(".detail")?.remove();
  document.querySelector('[aria-expanded="true"]')?.setAttribute("aria-expanded", "false");
  opened = wasOpen ? null : request.n;
  if (!wasOpen) show(request, row);
}

/** Puts the details behind a row, which may not be in the table yet. */
function show(request, row) {
  row.querySelector(".path button").setAttribute("aria-expanded", "true");
  const facts = [
    ["Path", request.path],
    ["Route", request.pattern ?? "none"],
    ["Ended", `${new Date(request.at).toISOString()}, after ${request.ms} ms`],
    ...(request.id === null ? [] : [["Request id", request.id]]),
  ];
  const list = facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
  const { error } = request;
  const cell = h(
    "td",
    { colspan: 6 },
    h("dl", {}, ...list),
    error ? h("p", { class: "error" }, `${error.name}: ${error.message}`) : null,
    error?.stack ? h("pre", {}, error.stack) : null,
    ...(error?.causes ?? []).map((cause) => h("p", { class: "cause" }, `caused by ${cause.name}: ${cause.message}`)),
  );
  queueMicrotask(() => row.after(h("tr", { class: "detail" }, cell)));
}

function renderRequests() {
  $("rows").replaceChildren(...requests.filter(matches).map((request) => rowOf(request, false)));
  renderCounts();
}

function renderCounts() {
  const shown = $("rows").childElementCount > 0;
  $("no-requests").hidden = shown;
  $("rows").parentElement.hidden = !shown;
  $("no-requests").textContent =
    requests.length > 0 ? "No request matches." : "No requests yet. They appear here as they end.";
  $("request-count").textContent = answered > 0 ? count(answered) : "";
}

function addRequests(added, missed) {
  answered += added.length + missed;
  const newest = [...added].reverse();
  if (missed > 0) newest.push({ missed });
  requests = [...newest, ...requests].slice(0, maxRows);
  const rows = $("rows");
  // One that comes is pointed out; a crowd speaks for itself.
  rows.prepend(...newest.filter(matches).map((request) => rowOf(request, newest.length <= 3)));
  while (rows.childElementCount > maxRows) rows.lastElementChild.remove();
  renderCounts();
}

for (const button of document.querySelectorAll("[data-filter]")) {
  button.addEventListener("click", () => {
    filter.status = button.dataset.filter;
    for (const each of document.querySelectorAll("[data-filter]"))
      each.setAttribute("aria-pressed", String(each === button));
    renderRequests();
  });
}
$("search").addEventListener("input", (event) => {
  filter.text = event.target.value.trim().toLowerCase();
  renderRequests();
});

// Routes and health.

const hits = new Map();

function lock() {
  const icon = svg("svg", { viewBox: "0 0 10 12", "aria-hidden": "true" });
  icon.append(svg("path", { d: "M2 5V3.5a3 3 0 0 1 6 0V5h1v6H1V5zm1.2 0h3.6V3.5a1.8 1.8 0 0 0-3.6 0z" }));
  return icon;
}

function renderRoutes(routes) {
  hits.clear();
  const items = routes.map((route) => {
    const parts = route.path.split(/(\{[^}]*\})/).filter((part) => part !== "");
    const path = parts.map((part) => (part.startsWith("{") ? h("em", {}, part) : part));
    const hit = h("span", { class: "hits", title: "Responses × mean time" });
    for (const method of route.methods) hits.set(`${method} ${route.path}`, hit);
    const tags = [
      ...route.tags.map((tag) => h("span", { class: "tag" }, tag)),
      ...route.guards.map((guard) => h("span", { class: "tag guard", title: "Guard" }, lock(), guard)),
    ];
    return h(
      "li",
      { class: `${route.internal ? "internal" : ""} ${route.deprecated ? "deprecated" : ""}` },
      h("span", { class: `method ${route.methods[0]}` }, route.methods.join(" ")),
      h("span", { class: "path" }, ...path),
      hit,
      route.summary === null ? null : h("span", { class: "about" }, route.summary),
      h("span", { class: "tags" }, ...tags),
    );
  });
  const own = routes.filter((route) => !route.internal).length;
  $("routes").replaceChildren(...items.slice(0, own));
  $("internal-routes").replaceChildren(...items.slice(own));
  $("route-count").textContent = String(own);
  $("own-count").textContent = String(routes.length - own);
  $("own-routes").hidden = own === routes.length;
}

function renderHits(perRoute) {
  for (const [key, { count: answers, errors, ms }] of perRoute) {
    const parts = [`${count(answers)} × ${milliseconds(ms / answers)}`];
    if (errors > 0) parts.push(" ", h("span", { class: "bad" }, `${count(errors)} failed`));
    hits.get(key)?.replaceChildren(...parts);
  }
}

function renderHealth(report) {
  $("no-health").hidden = report !== null;
  $("health-status").hidden = report === null;
  if (report === null) return $("checks").replaceChildren();
  $("health-status").textContent = report.status;
  $("health-status").className = `badge ${report.status}`;
  const items = Object.entries(report.checks).map(([name, check]) =>
    h(
      "li",
      {},
      h("span", {}, name),
      h("span", { class: "ms" }, name === "application" ? "" : milliseconds(check.duration_ms)),
      h("span", { class: `badge ${check.status}` }, check.status),
      check.message === undefined ? null : h("span", { class: "message" }, check.message),
    ),
  );
  return $("checks").replaceChildren(...items);
}

// Panels of features.

function tableOf({ title, columns, rows, empty }) {
  if (rows.length === 0) return [h("h3", {}, title), h("p", { class: "empty" }, empty)];
  const kind = (value) => ({ class: typeof value === "number" ? "number" : null });
  const head = h("tr", {}, ...columns.map((column, i) => h("th", kind(rows[0][i]), column)));
  const body = rows.map((row) =>
    h("tr", {}, ...row.map((value) => h("td", { ...kind(value), title: longText(value) }, shown(value)))),
  );
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...body));
  return [h("h3", {}, title), h("div", { class: "scroll" }, table)];
}

const shown = (value) => (value === null ? "–" : String(value));

/** The whole text of a cell that may be cut. */
const longText = (value) => (typeof value === "string" && value.length > 30 ? value : null);

// A text that is cut is shown whole after a click on it.
$("panels").addEventListener("click", (event) => event.target.closest("td[title]")?.classList.toggle("whole"));

/** The panels on the page, as JSON. One that has not changed stays, with a selection in it and the place of its tables. */
let drawn = [];

function renderPanels(panels) {
  const texts = panels.map((panel) => JSON.stringify(panel));
  const old = [...$("panels").children];
  const sections = panels.map((panel, i) => (texts[i] === drawn[i] ? old[i] : panelOf(panel)));
  drawn = texts;
  const places = old.map((section) => [...section.querySelectorAll(".scroll")].map(({ scrollLeft }) => scrollLeft));
  if (sections.length !== old.length) $("panels").replaceChildren(...sections);
  sections.forEach((section, i) => {
    if (section === old[i]) return;
    old[i]?.replaceWith(section);
    section.querySelectorAll(".scroll").forEach((table, n) => {
      table.scrollLeft = places[i]?.[n] ?? 0;
    });
  });
}

function panelOf({ title, facts: known = [], tables = [], link }) {
  const terms = known.map(({ label, value, tone }) =>
    h("div", {}, h("dt", {}, label), h("dd", { class: tone ?? null }, shown(value))),
  );
  return h(
    "section",
    { class: "panel" },
    h("div", { class: "bar" }, h("h2", {}, title), link ? h("a", { href: link.href }, link.label) : null),
    terms.length > 0 ? h("dl", { class: "terms" }, ...terms) : null,
    ...tables.flatMap(tableOf),
  );
}

// The events.

let paused = false;
let facts = null;
/** What arrives while paused; shown when that ends. */
let held = [];

function setState(state, text) {
  $("state").dataset.state = state;
  $("state-text").textContent = text;
}

function renderFacts() {
  if (facts !== null) $("facts").textContent = `pid ${facts.pid} · Node.js ${facts.node} · up ${ago(facts.startedAt)}`;
}

const handlers = {
  hello(data) {
    facts = data;
    beats = data.beats;
    requests = [...data.requests].reverse().slice(0, maxRows);
    answered = requests[0]?.n ?? 0;
    opened = null;
    held = [];
    renderFacts();
    renderRoutes(data.routes);
    renderHits(data.perRoute);
    renderHealth(data.health);
    renderPanels(data.panels);
    renderRequests();
    drawAll();
  },
  requests: (data) => addRequests(data.requests, data.missed),
  beat(data) {
    beats = [...beats, data.beat].slice(-maxBeats);
    if (pointed !== null) pointed = Math.max(0, pointed - 1);
    renderHits(data.perRoute);
    renderFacts();
    drawAll();
  },
  health: renderHealth,
  panels: renderPanels,
};

const source = new EventSource(`${location.pathname.replace(/\/$/, "")}/events`);
source.addEventListener("open", () => setState(paused ? "paused" : "live", paused ? "paused" : "live"));
source.addEventListener("error", () => setState("lost", "reconnecting"));
for (const [name, handle] of Object.entries(handlers)) {
  source.addEventListener(name, (event) => {
    const data = JSON.parse(event.data);
    if (paused && name !== "hello") held.push(() => handle(data));
    else handle(data);
    if (held.length > 5000) held = held.slice(-2500);
  });
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").textContent = paused ? "Resume" : "Pause";
  if (source.readyState === EventSource.OPEN) setState(paused ? "paused" : "live", paused ? "paused" : "live");
  if (!paused) for (const handle of held.splice(0)) handle();
});
