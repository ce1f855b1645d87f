// Runs in the browser, inside the pages of the console. What comes from the server is only ever put into text.

const maxRows = 200;
const maxBeats = 120;
const base = location.pathname.replace(/\/$/, "");
const $ = (id) => document.getElementById(id);

/** Gives an element attributes and children: elements, text, or null. */
function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const h = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Numbers and times, as people read them.

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

function when(text) {
  const date = new Date(text);
  return Date.now() - date > 86_400_000 ? `${day.format(date)} ${clock.format(date)}` : clock.format(date);
}

function duration(ms) {
  if (ms === null || ms === undefined) return "\u2013";
  if (ms < 1) return `${Math.max(0, Math.round(ms * 1000))} \u00b5s`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const [hours, minutes, seconds] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map(Math.floor);
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds} s`;
}

function bytes(value) {
  if (value === null || value === undefined) return "\u2013";
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const count = (value) => (value >= 10_000 ? `${(value / 1000).toFixed(1)}k` : String(Math.round(value)));

// The head of the page: its state, its fields and its pause.

let paused = false;

function setState(state, text = state) {
  $("state").dataset.state = state;
  // The element is read aloud when it changes.
  if ($("state-text").textContent !== text) $("state-text").textContent = text;
}

/** The values of the fields, which are also in the address. */
const filter = Object.fromEntries(new URLSearchParams(location.search));
/** Shows the data again after a field has changed, or after the pause. */
let refresh = () => {};

function setFilter(name, value) {
  if (value === "") delete filter[name];
  else filter[name] = value;
  const query = new URLSearchParams(filter).toString();
  history.replaceState(null, "", `${location.pathname}${query === "" ? "" : `?${query}`}${location.hash}`);
  markFields();
  refresh();
}

function markFields() {
  for (const button of document.querySelectorAll("[data-filter]")) {
    const { filter: name, value } = button.dataset;
    button.setAttribute("aria-pressed", String(value === (filter[name] ?? "")));
  }
}

for (const button of document.querySelectorAll("[data-filter]"))
  button.addEventListener("click", () => setFilter(button.dataset.filter, button.dataset.value));
for (const input of document.querySelectorAll("input[name]")) {
  if (input.type === "checkbox") input.checked = filter[input.name] === "1";
  else input.value = filter[input.name] ?? "";
  input.addEventListener("input", () =>
    setFilter(input.name, input.type !== "checkbox" ? input.value.trim() : input.checked ? "1" : ""),
  );
}
markFields();

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").textContent = paused ? "Resume" : "Pause";
  if ($("state").dataset.state !== "lost") setState(paused ? "paused" : "live");
  if (!paused) refresh();
});

// Panels.

const badge = (text, tone) => h("span", { class: `badge ${tone ?? ""}` }, text);

/** A value as an element or text. */
function shown(value) {
  if (value === null || typeof value !== "object") return value === null ? "\u2013" : String(value);
  if (Array.isArray(value)) return h("div", { class: "stack" }, ...value.map((one) => h("span", {}, shown(one))));
  const { text = null, at, ms, share, tone = null, href, actions } = value;
  if (actions !== undefined) return buttons(value.id, actions);
  if (at !== undefined) return at === null ? "\u2013" : when(at);
  if (ms !== undefined) return duration(ms);
  if (share !== undefined) return h("progress", { max: 1, value: share, "aria-label": `${Math.round(share * 100)}%` });
  const label = text === null ? "" : String(text);
  if (href !== undefined) return h("a", { href, title: label }, label);
  return value.badge ? badge(label, tone) : h("span", { class: tone }, label);
}

function buttons(id, names) {
  const all = names.map((name) => {
    const type = /^(?:abort|cancel|delete|discard|remove)/.test(name) ? "danger" : null;
    const attributes = { type: "button", class: type, "data-action": name, "aria-label": `${name} ${id}` };
    return h("button", { ...attributes, click: () => act(id, name) }, name);
  });
  return h("div", { class: "actions" }, ...all);
}

/** The whole text of a cell that may be cut. */
function longText(value) {
  const text = value?.text ?? value;
  return typeof text === "string" && text.length > 30 && value.href === undefined ? text : null;
}

function tableOf({ title, columns, rows, empty, folded }) {
  const heading = title === undefined ? [] : [h(folded ? "summary" : "h3", {}, title)];
  if (rows.length === 0) return [...heading, h("p", { class: "empty" }, empty)];
  const isNumber = (value) => typeof value === "number" || value?.ms !== undefined;
  const kinds = rows[0].map((_, i) => (rows.some((row) => isNumber(row[i])) ? "number" : null));
  const head = columns.map((column, i) => h("th", { scope: "col", class: kinds[i] }, column));
  const body = rows.map((row) =>
    h("tr", {}, ...row.map((value, i) => h("td", { class: kinds[i], title: longText(value) }, shown(value)))),
  );
  const thead = head.length > 0 ? h("thead", {}, h("tr", {}, ...head)) : null;
  const parts = [...heading, h("div", { class: "scroll" }, h("table", {}, thead, h("tbody", {}, ...body)))];
  return folded ? [h("details", {}, ...parts)] : parts;
}

function entryOf({ title, links = [], note, depth = 0, texts = [] }) {
  return h(
    "li",
    { class: `depth-${Math.min(depth, 8)}` },
    h("div", {}, h("b", {}, title), ...links.flatMap(({ label, href }) => [" ", h("a", { href }, label)])),
    h("div", { class: "soft" }, note),
    h(
      "details",
      depth > 0 ? { open: "" } : {},
      h("summary", {}, "data and metadata"),
      ...texts.map((text) => h("pre", {}, text)),
    ),
  );
}

function panelOf({ title, about, badge: state, facts = [], tables = [], texts = [], ...panel }) {
  const { link, actions, error, flow, entries, empty } = panel;
  const terms = facts.map(({ label, value, tone }) =>
    h("div", {}, h("dt", {}, label), h("dd", { class: tone }, shown(value))),
  );
  return h(
    "section",
    { class: "panel", "aria-label": title },
    h(
      "div",
      { class: "bar" },
      h("h2", {}, title),
      state ? badge(state.text, state.tone) : null,
      about ? h("code", {}, about) : null,
      actions ? buttons(actions.id, actions.names) : null,
      link ? h("a", { href: link.href }, link.label) : null,
    ),
    terms.length > 0 ? h("dl", { class: "terms" }, ...terms) : null,
    error ? h("p", { class: "error" }, error) : null,
    ...(flow ? flowOf(flow) : []),
    entries?.length > 0 ? h("ol", { class: "entries" }, ...entries.map(entryOf)) : null,
    entries?.length === 0 ? h("p", { class: "empty" }, empty) : null,
    ...tables.flatMap(tableOf),
    ...texts.map((text) => h("pre", {}, text)),
  );
}

// A text that is cut is shown whole after a click on it.
addEventListener("click", ({ target }) => target.closest("td[title]")?.classList.toggle("whole"));

/** Draws panels. One that has not changed stays; of others, the place of tables, what is open and the focus stay. */
function render(container, panels) {
  const old = [...container.children];
  for (const [i, panel] of panels.entries()) {
    const source = JSON.stringify(panel);
    if (old[i]?.source === source) continue;
    const section = Object.assign(panelOf(panel), { source });
    if (old[i] === undefined) {
      container.append(section);
      continue;
    }
    const pairs = (selector) => {
      const before = old[i].querySelectorAll(selector);
      return [...section.querySelectorAll(selector)].map((one, n) => [one, before[n]]);
    };
    const places = pairs(".scroll").map(([one, before]) => [one, before?.scrollLeft ?? 0]);
    const focused = pairs("a, button, summary").find(([, before]) => before === document.activeElement);
    if (panel.title === JSON.parse(old[i].source).title)
      for (const [one, before] of pairs("details")) one.open = before?.open ?? one.open;
    old[i].replaceWith(section);
    for (const [one, left] of places) one.scrollLeft = left;
    focused?.[0].focus();
  }
  for (const section of old.slice(panels.length)) section.remove();
}

// A drawing of steps: a line from one to the next, the way back beside it, and their times.

const symbols = { good: "\u2713", bad: "\u2715", note: "\u21ba", warning: "!" };
const legend = {
  good: "done",
  bad: "failed",
  warning: "timed out, or unknown",
  thin: "waits",
  note: "compensation",
  info: "in progress",
};

function flowOf({ from, to, steps }) {
  const key = Object.entries(legend).map(([type, text]) => {
    const square = svg("rect", { class: `seg ${type}`, width: 10, height: 10 });
    return h("span", {}, svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, square), text);
  });
  const units = steps.map((step, index) => stepOf(step, index, steps, Date.parse(from), Date.parse(to)));
  return [h("ol", { class: "flow" }, ...units), h("p", { class: "key" }, ...key)];
}

function stepOf(step, index, all, from, to) {
  const x = (time) => ((time - from) / Math.max(to - from, 1)) * 1000;
  const segments = step.segments.map(({ from, to: end, ...rest }) => ({
    ...rest,
    from: Date.parse(from),
    to: end === null ? to : Date.parse(end),
  }));
  const bars = segments.map(({ from, to, tone, thin }) => {
    const place = { x: x(from), width: Math.max(x(to) - x(from), 4), y: thin ? 9 : 5, height: thin ? 6 : 14 };
    const title = svg("title", {}, `${clock.format(from)}, ${duration(to - from)}`);
    return svg("rect", { class: `seg ${thin ? "thin" : tone}`, ...place }, title);
  });
  const attempts = Math.max(0, ...segments.map(({ attempt, tone }) => (tone === "note" ? 0 : (attempt ?? 0))));
  const facts = [
    ...(segments.length > 0 ? [clock.format(segments[0].from), duration(segments.at(-1).to - segments[0].from)] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(step.undone ? [`undone ${when(step.undone)}`] : []),
  ];
  const isBack = (one) => one.back;
  const classes = {
    unit: true,
    [step.tone ?? "untouched"]: true,
    went: segments.length > 0 && all[index + 1]?.segments.length > 0,
    parallel: step.group !== undefined && all[index - 1]?.group !== step.group,
    // The way back leads from the newest step that was undone to the oldest, past those that need no compensation.
    undo: step.back,
    begins: !all.slice(index + 1).some(isBack),
    passed: !step.back && all.slice(0, index).some(isBack) && all.slice(index + 1).some(isBack),
  };
  const names = Object.keys(classes).filter((name) => classes[name]);
  return h(
    "li",
    { class: names.join(" "), "data-state": step.state, "data-step": step.name },
    h("div", { class: "rail" }, h("span", { class: "mark", "aria-hidden": "true" }, symbols[step.tone])),
    h("div", { class: "back" }),
    h(
      "div",
      { class: "what" },
      h("strong", {}, step.name),
      step.kind === "step" ? null : h("span", { class: "kind" }, step.kind),
      badge(step.state || "not begun", step.tone),
      h("p", {}, facts.join(" \u00b7 ")),
      ...step.notes.slice(-5).map((note) => h("p", { class: "bad" }, note)),
    ),
    h("div", { class: "time" }, svg("svg", { viewBox: "0 0 1000 24", preserveAspectRatio: "none" }, ...bars)),
  );
}

// A page of panels: asks for them again and again.

async function call(path, options) {
  const response = await fetch(`${base}/${path}`, { credentials: "same-origin", ...options });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.detail ?? body.error ?? `status ${response.status}`);
  return body;
}

async function act(id, action) {
  const headers = { "Content-Type": "application/json" };
  try {
    await call("act", { method: "POST", headers, body: JSON.stringify({ id, action }) });
    await show();
    setState(paused ? "paused" : "live", `${action}: done`);
  } catch (error) {
    setState("lost", error.message);
  }
}

/** The id in the address; a fragment that is not encoded right is taken as it is. */
function chosen() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What is shown, and whether more than its first part is: that is not loaded again, it would jump. */
let view = { panels: [], next: null };
let extended = false;
/** Counts the calls for data. Only the response to the last one is shown: an earlier one may arrive after it. */
let calls = 0;
let underWay = 0;

async function show(more = false) {
  const id = chosen();
  for (const part of document.querySelectorAll("#filters, #back")) part.hidden = (part.id === "back") === (id === "");
  const query = new URLSearchParams(id === "" ? filter : { id });
  if (more) query.set("before", view.next);
  const number = ++calls;
  underWay++;
  try {
    const found = await call(`view?${query}`).finally(() => underWay--);
    if (number !== calls) return;
    if (more) found.panels[0].tables[0].rows.unshift(...view.panels[0].tables[0].rows);
    view = found;
    extended = more;
    setState(paused ? "paused" : "live");
  } catch (error) {
    if (number !== calls) return;
    if (id !== "") view = { panels: [], next: null };
    setState("lost", error.message);
  }
  render(
    $("panels"),
    view.panels.filter(({ side }) => !side),
  );
  render(
    $("side"),
    view.panels.filter(({ side }) => side),
  );
  $("more").hidden = (view.next ?? null) === null;
  $("facts").textContent = `as of ${clock.format(Date.now())}`;
}

function startPanels() {
  refresh = () => show();
  $("more").addEventListener("click", () => show(true));
  addEventListener("hashchange", () => show());
  setInterval(() => {
    if (!document.hidden && !paused && !extended && underWay === 0) void show();
  }, 2000);
  void show();
}

// The overview. Charts.

const [width, height] = [600, 120];
const steps = [1, 2, 5, 10];

/** The next round number above. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return (steps.find((step) => step * power >= value) ?? 10) * power;
}

/** A chart: its lines, those with an area, the least height of its scale, its format, the line of its value, its unit. */
const chart = (lines, filled, least, format, main, unit) => ({ lines, filled, least, format, main, unit });

const charts = {
  // No line along the bottom where nothing fails.
  requests: chart([(beat) => beat.requests, (beat) => beat.errors || null], [0, 1], 5, count, 0, () => "per second"),
  latency: chart([({ p50 }) => p50, ({ p95 }) => p95, ({ p99 }) => p99], [1], 1, duration, 1, () => "95th percentile"),
  memory: chart([(beat) => beat.rss, (beat) => beat.heap], [0, 1], 1e6, bytes, 0, () => "resident"),
  loop: chart([({ lag }) => lag], [0], 5, duration, 0, ({ busy }) => `delay \u00b7 ${Math.round(busy * 100)}% busy`),
};

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

function drawAll() {
  const beat = beats[pointed ?? beats.length - 1];
  if (!beat) return;
  for (const [id, { lines, filled: areas, least, format, main, unit }] of Object.entries(charts)) {
    const card = $(`${id}-card`);
    const columns = lines.map((line) => beats.map(line));
    const top = roundUp(Math.max(least, ...columns.flat().filter((value) => value !== null)));
    const y = (value) => height - (value / top) * (height - 6);
    const parts = [svg("line", { class: "rule", x1: 0, x2: width, y1: 6, y2: 6 })];
    columns.forEach((values, i) => {
      if (areas.includes(i)) parts.push(svg("path", { class: `area line${i}`, d: lineOf(values, y, true) }));
      parts.push(svg("path", { class: `stroke line${i}`, d: lineOf(values, y, false) }));
    });
    if (pointed !== null)
      parts.push(svg("line", { class: "cursor", x1: x(pointed), x2: x(pointed), y1: 0, y2: height }));
    card.querySelector("svg").replaceChildren(...parts);
    card.querySelector(".top").textContent = format(top);
    card.querySelector(".value b").textContent = format(lines[main](beat));
    card.querySelector(".value span").textContent = pointed === null ? unit(beat) : `at ${clock.format(beat.at)}`;
    for (const legend of card.querySelectorAll("[data-line]"))
      legend.textContent = format(lines[legend.dataset.line](beat));
  }
}

function followPointer(figure) {
  figure.addEventListener("pointermove", (event) => {
    const box = figure.getBoundingClientRect();
    const index = Math.round(((event.clientX - box.left) / box.width) * (maxBeats - 1)) - (maxBeats - beats.length);
    pointed = index >= 0 && index < beats.length ? index : null;
    drawAll();
  });
  figure.addEventListener("pointerleave", () => {
    pointed = null;
    drawAll();
  });
}

// Requests.

let requests = [];
let answered = 0;
let opened = null;
const tones = { 1: "info", 2: "good", 3: "info", 4: "warning", 5: "bad", UP: "good", DEGRADED: "warning", DOWN: "bad" };

function matches(request) {
  const { status = "", text = "" } = filter;
  if (request.missed) return status === "" && text === "";
  if (status !== "" && String(request.status)[0] !== status[0]) return false;
  return `${request.method} ${request.path} ${request.pattern ?? ""} ${request.id ?? ""}`
    .toLowerCase()
    .includes(text.toLowerCase());
}

function rowOf(request, isNew) {
  if (request.missed)
    return h("tr", { class: "missed" }, h("td", { colspan: 6 }, `${request.missed} more, too fast to show`));
  const bar = h("i", { class: request.ms >= 500 ? "slow" : null });
  // From a millisecond on, a step for each doubling.
  bar.style.width = `${Math.min(5, Math.log2(Math.max(request.ms, 1)) * 0.45)}rem`;
  const path = h("button", { type: "button", "aria-expanded": "false", title: request.path }, request.path);
  const row = h(
    "tr",
    { class: isNew ? "request new" : "request", click: () => toggle(request, row) },
    h("td", { class: "when" }, clock.format(request.at)),
    h("td", {}, h("span", { class: `method ${request.method}` }, request.method)),
    h("td", { class: "path" }, path),
    h("td", {}, badge(String(request.status), tones[String(request.status)[0]])),
    h("td", { class: "number duration" }, duration(request.ms), bar),
    h("td", { class: "number size" }, request.size === null ? "stream" : bytes(request.size)),
  );
  if (opened === request.n) open(request, row);
  return row;
}

function toggle(request, row) {
  const wasOpen = opened === request.n;
  document.querySelector(".detail")?.remove();
  document.querySelector('[aria-expanded="true"]')?.setAttribute("aria-expanded", "false");
  opened = wasOpen ? null : request.n;
  if (!wasOpen) open(request, row);
}

/** Puts the details behind a row, which may not be in the table yet. */
function open(request, row) {
  row.querySelector(".path button").setAttribute("aria-expanded", "true");
  const facts = [
    ["Path", request.path],
    ["Route", request.pattern ?? "none"],
    ["Ended", `${new Date(request.at).toISOString()}, after ${request.ms} ms`],
    ...(request.id === null ? [] : [["Request id", request.id]]),
  ];
  const { error } = request;
  const cell = h(
    "td",
    { colspan: 6 },
    h("dl", {}, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
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
  const any = $("rows").childElementCount > 0;
  $("no-requests").hidden = any;
  $("rows").parentElement.hidden = !any;
  $("no-requests").textContent =
    requests.length > 0 ? "No request matches." : "No requests yet. They appear here as they end.";
  $("request-count").textContent = answered > 0 ? count(answered) : "";
}

function addRequests({ requests: added, missed }) {
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

// Routes and health.

let facts = null;

function renderSide({ health = facts.health, perRoute = facts.perRoute }) {
  Object.assign(facts, { health, perRoute });
  const hits = new Map(perRoute);
  const checks = Object.entries(health?.checks ?? {}).map(([name, { status, message, duration_ms }]) => [
    [name, ...(message === undefined ? [] : [{ text: message, tone: "soft" }])],
    name === "application" ? "" : { ms: duration_ms },
    { text: status, tone: tones[status], badge: true },
  ]);
  const route = ({ methods, path, summary, tags, guards, deprecated }) => {
    const all = methods.map((method) => hits.get(`${method} ${path}`)).filter((one) => one !== undefined);
    const [answers, errors, ms] = ["count", "errors", "ms"].map((name) => all.reduce((sum, one) => sum + one[name], 0));
    return [
      { text: methods.join(" "), tone: `method ${methods[0]}` },
      [
        { text: path, tone: deprecated ? "path deprecated" : "path" },
        ...(summary === null ? [] : [{ text: summary, tone: "soft" }]),
        ...tags.map((text) => ({ text, badge: true })),
        ...guards.map((text) => ({ text: `guard ${text}`, badge: true, tone: "guard" })),
      ],
      [
        answers > 0 ? { text: `${count(answers)} \u00d7 ${duration(ms / answers)}`, tone: "soft" } : "",
        ...(errors > 0 ? [{ text: `${count(errors)} failed`, tone: "bad" }] : []),
      ],
    ];
  };
  const [own, internal] = [false, true].map((kind) => facts.routes.filter((one) => one.internal === kind).map(route));
  const [columns, title] = [[], `Routes of the framework: ${internal.length}`];
  const noHealth = 'There are no health checks: app.healthCheck("name", check) adds one.';
  render($("side"), [
    {
      title: "Health",
      badge: health && { text: health.status, tone: tones[health.status] },
      tables: [{ columns, rows: checks, empty: noHealth }],
    },
    {
      title: `Routes: ${own.length}`,
      tables: [
        { columns, rows: own, empty: "There are no routes." },
        { columns, rows: internal, title, folded: true },
      ],
    },
  ]);
}

// The events of the overview.

/** What arrives while paused; shown when that ends. */
let held = [];

function renderFacts() {
  $("facts").textContent =
    `pid ${facts.pid} \u00b7 Node.js ${facts.node} \u00b7 up ${duration(Date.now() - facts.startedAt)}`;
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
    renderSide(data);
    render($("panels"), data.panels);
    renderRequests();
    drawAll();
  },
  requests: addRequests,
  beat(data) {
    beats = [...beats, data.beat].slice(-maxBeats);
    if (pointed !== null) pointed = Math.max(0, pointed - 1);
    renderSide(data);
    renderFacts();
    drawAll();
  },
  health: (health) => renderSide({ health }),
  panels: (panels) => render($("panels"), panels),
};

function startOverview() {
  refresh = () => {
    if (!paused) for (const handle of held.splice(0)) handle();
    renderRequests();
  };
  for (const figure of document.querySelectorAll("figure")) followPointer(figure);
  const source = new EventSource(`${base}/events`);
  source.addEventListener("open", () => setState(paused ? "paused" : "live"));
  source.addEventListener("error", () => setState("lost", "reconnecting"));
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => {
      const data = JSON.parse(event.data);
      if (paused && name !== "hello") held.push(() => handle(data));
      else handle(data);
      if (held.length > 5000) held = held.slice(-2500);
    });
  }
}

if ($("charts")) startOverview();
else startPanels();
