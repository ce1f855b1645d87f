// Runs in the browser, inside the pages of sagas and jobs. What comes from the server is only ever put into text.

const kind = document.body.dataset.kind;
const base = location.pathname.replace(/\/$/, "");
const $ = (id) => document.getElementById(id);

/** An element with attributes; children are elements or text. */
function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key === "onclick") element.addEventListener("click", value);
    else if (value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Numbers and times, as people read them.

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

function when(text) {
  if (text === null) return "–";
  const date = new Date(text);
  return Date.now() - date > 86_400_000 ? `${day.format(date)} ${clock.format(date)}` : clock.format(date);
}

function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

const badge = (text, type = text) => h("span", { class: `badge ${type}` }, text);
const json = (value) => JSON.stringify(value, null, 2);

// Calls.

async function call(path, options) {
  const response = await fetch(`${base}/${path}`, { credentials: "same-origin", ...options });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.detail ?? body.error ?? `status ${response.status}`);
  return body;
}

function tell(text, bad = false) {
  $("state").textContent = text;
  $("state").classList.toggle("bad", bad);
}

async function act(id, action) {
  try {
    await call("act", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ id, action }),
    });
    await show();
    tell(`${action}: done`);
  } catch (error) {
    tell(error.message, true);
  }
}

function actions(id, names) {
  const buttons = names.map((name) => {
    const type = name === "abort" || name === "cancel" ? "danger" : null;
    return h("button", { type: "button", class: type, "data-action": name, onclick: () => act(id, name) }, name);
  });
  return h("div", { class: "actions" }, ...buttons);
}

// The list.

const filter = { status: "", name: "" };
const link = (id) =>
  h("a", { href: `#${encodeURIComponent(id)}`, title: id }, id.length > 40 ? `${id.slice(0, 39)}…` : id);

const columns = {
  sagas: {
    head: ["Id", "Name", "Status", "Created", "Took", "Error"],
    row: (item) => [
      link(item.id),
      `${item.name}${item.version > 1 ? ` v${item.version}` : ""}`,
      badge(item.status),
      when(item.createdAt),
      duration(new Date(item.finishedAt ?? Date.now()) - new Date(item.createdAt)),
      h("span", { class: "soft", title: item.error }, item.error ?? ""),
    ],
  },
  jobs: {
    head: ["Id", "Name", "Status", "Attempts", "Progress", "Created", "Error", ""],
    row: (item) => [
      link(item.id),
      item.name,
      item.running ? badge("running") : badge(item.status),
      String(item.attempts),
      progress(item.progress),
      when(item.createdAt),
      h("span", { class: "soft", title: item.error }, item.error ?? ""),
      actions(item.id, jobActions(item)),
    ],
  },
};

const jobActions = ({ status }) =>
  status === "waiting" ? ["cancel"] : status === "failed" || status === "cancelled" ? ["retry"] : [];

/** A number from 0 to 1 is drawn. */
function progress(value) {
  if (value === null || value === undefined) return "";
  const share = typeof value === "number" ? value : value?.done / value?.total;
  if (share >= 0 && share <= 1) return h("progress", { max: "1", value: String(share) });
  return h("span", { class: "soft" }, JSON.stringify(value).slice(0, 60));
}

let items = [];
let next = null;
/** Counts the calls for data. Only the response to the last one is shown: an earlier one may arrive after it. */
let calls = 0;

async function loadList(more = false) {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ""));
  if (more && next !== null) query.set("before", next);
  const number = ++calls;
  const page = await call(`list?${query}`);
  if (number !== calls) return;
  items = more ? [...items, ...page.items] : page.items;
  next = page.next;
  const { head, row } = columns[kind];
  $("head").replaceChildren(...head.map((text) => h("th", null, text)));
  $("rows").replaceChildren(...items.map((item) => h("tr", null, ...row(item).map((cell) => h("td", null, cell)))));
  $("empty").hidden = items.length > 0;
  $("more").hidden = next === null;
}

// One execution.

/** The outcome of the lines that end something, and the class of its bar. */
const ends = {
  "action done": ["done", "ok"],
  "action failed": ["failed", "no"],
  "action timed out": ["unknown", "late"],
  "action unknown": ["unknown", "late"],
  "wait done": ["done", "wait"],
  "wait timed out": ["failed", "late"],
  "wait failed": ["failed", "no"],
  "sleep done": ["done", "wait"],
  "sleep failed": ["failed", "no"],
  "child done": ["done", "ok"],
  "child failed": ["failed", "no"],
  "compensation done": ["undone", "undo"],
  "compensation failed": ["undoing", "no"],
  parked: ["parked", "no"],
};
const begins = {
  "action started": ["active", "now"],
  "wait begins": ["waiting", "wait"],
  "sleep begins": ["waiting", "wait"],
  "child begins": ["waiting", "wait"],
  "compensation started": ["undoing", "undo"],
  "compensation waits": ["undoing", "undo"],
};

/** The steps with what the log says of each: state, segments of time, attempts, errors. */
function read({ plan, log }) {
  const units = new Map(plan.map((unit) => [unit.name, { ...unit, state: "", segments: [], notes: [], undo: null }]));
  for (const line of log) {
    if (line.step === null) continue;
    const known = units.get(line.step);
    const unit = known ?? { name: line.step, kind: "step", state: "", segments: [], notes: [], undo: null };
    if (known === undefined) units.set(line.step, unit);
    const at = new Date(line.at).getTime();
    const open = unit.segments.at(-1);
    if (begins[line.event] !== undefined) {
      if (open !== undefined && open.to === null) open.to = at;
      const [state, type] = begins[line.event];
      if (line.event === "compensation waits" && unit.state === state) continue;
      unit.state = state;
      unit.segments.push({ from: at, to: null, type, attempt: line.attempt });
    } else if (ends[line.event] !== undefined) {
      const [state, type] = ends[line.event];
      if (open !== undefined && open.to === null) Object.assign(open, { to: at, type });
      unit.state = state;
      if (state === "undone") unit.undo = line.at;
      const what = type === "no" && (state === "undoing" || state === "parked") ? "compensation, attempt" : "attempt";
      if (line.error !== null)
        unit.notes.push(`${line.attempt === null ? "" : `${what} ${line.attempt}: `}${line.error}`);
    }
  }
  return [...units.values()];
}

const symbols = {
  done: "M5 10.5 8.5 14 15 6.5",
  failed: "M6 6 14 14M14 6 6 14",
  parked: "M6 6 14 14M14 6 6 14",
  undone: "M14 13a4.5 4.5 0 1 0-8-3M6 6v4h4",
  unknown: "M10 5v6M10 14.5v.5",
};

function drawUnit(unit, index, all, from, to) {
  const span = Math.max(to - from, 1);
  const x = (time) => ((time - from) / span) * 1000;
  const bars = unit.segments.map((segment) => {
    const end = segment.to ?? to;
    const bar = svg("rect", {
      class: `seg ${segment.type}`,
      x: x(segment.from),
      y: segment.type === "wait" ? 9 : 5,
      width: Math.max(x(end) - x(segment.from), 4),
      height: segment.type === "wait" ? 6 : 14,
    });
    bar.append(svg("title", {}));
    bar.firstChild.textContent = `${clock.format(segment.from)}, ${duration(end - segment.from)}`;
    return bar;
  });
  const attempts = Math.max(
    0,
    ...unit.segments.filter(({ type }) => type !== "undo").map(({ attempt }) => attempt ?? 0),
  );
  const first = unit.segments[0];
  const last = unit.segments.at(-1);
  const facts = [
    first === undefined ? null : clock.format(first.from),
    first === undefined ? null : duration((last.to ?? to) - first.from),
    attempts > 1 ? `${attempts} attempts` : null,
    unit.undo === null ? null : `undone ${when(unit.undo)}`,
  ].filter((fact) => fact !== null);
  const state = unit.state === "" ? "not begun" : unit.state;
  const went = unit.segments.length > 0 && all[index + 1]?.segments.length > 0;
  const later = unit.group !== undefined && all[index - 1]?.group === unit.group;
  const classes = ["unit", went ? "went" : "", unit.group === undefined ? "" : "parallel", later ? "later" : ""];
  return h(
    "li",
    { class: classes.join(" "), "data-state": unit.state, "data-step": unit.name },
    h("div", { class: "rail" }, h("span", { class: "mark" }, mark(unit.state))),
    h("div", { class: "back" }, ...wayBack(unit, all.slice(0, index), all.slice(index + 1))),
    h(
      "div",
      { class: "what" },
      h("strong", null, unit.name),
      unit.kind === "step" ? null : h("span", { class: "kind" }, unit.kind),
      badge(state),
      h("p", null, facts.join(" · ")),
      ...unit.notes.slice(-5).map((note) => h("p", { class: "bad" }, note)),
    ),
    h("div", { class: "time" }, svg("svg", { viewBox: "0 0 1000 24", preserveAspectRatio: "none" }, ...bars)),
  );
}

function mark(state) {
  const path = symbols[state];
  return path === undefined
    ? null
    : svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: path }));
}

const isUndone = ({ state }) => state === "undone" || state === "undoing" || state === "parked";

/** The way back, beside the steps: from the newest that was undone up to the oldest, past those that need no compensation. */
function wayBack(unit, above, below) {
  const begins = !below.some(isUndone);
  // The line is as long as the step, the head of the arrow has one size.
  const line = (d, type) =>
    svg(
      "svg",
      { class: type, viewBox: "0 0 20 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("path", { class: "way", d }),
    );
  if (!isUndone(unit)) return begins || !above.some(isUndone) ? [] : [line("M10 100 L10 0", "line")];
  const head = svg("path", { class: "head", d: "M3 16 L10 0 L17 16 Z" });
  return [
    line(begins ? "M0 60 Q10 60 10 40 L10 0" : "M10 100 L10 0", "line ends"),
    svg("svg", { class: "tip", viewBox: "0 0 20 16", "aria-hidden": "true" }, head),
  ];
}

function sagaDetail(found) {
  const { saga, log, children } = found;
  const units = read(found);
  const from = new Date(saga.createdAt).getTime();
  // One that is parked waits for a person: its picture ends with its last change.
  const end = saga.finishedAt ?? (saga.status === "parked" ? saga.updatedAt : null);
  const to = end === null ? Date.now() : new Date(end).getTime();
  const possible = { parked: ["resume", "skip", "abort"], running: ["abort"], waiting: ["abort"] };
  const title = h("h2", null, `${saga.name}${saga.version > 1 ? ` v${saga.version}` : ""}`);
  const lines = log.map((line) =>
    h(
      "tr",
      null,
      h("td", null, clock.format(new Date(line.at))),
      h("td", null, line.event),
      h("td", null, line.step ?? ""),
      h("td", null, line.attempt === null ? "" : String(line.attempt)),
      h("td", { title: line.error, class: "bad" }, line.error ?? ""),
    ),
  );
  const logHead = h("tr", null, ...["Time", "Event", "Step", "Attempt", "Error"].map((text) => h("th", null, text)));
  const legend = {
    ok: "done",
    no: "failed",
    late: "timed out, or unknown",
    wait: "waits",
    undo: "compensation",
    now: "in progress",
  };
  return [
    h(
      "section",
      { class: "panel" },
      h(
        "div",
        { class: "top" },
        title,
        badge(saga.status),
        h("code", null, saga.id),
        actions(saga.id, possible[saga.status] ?? []),
      ),
      h(
        "p",
        { class: "facts" },
        h("span", null, `began ${when(saga.createdAt)}`),
        h("span", null, `took ${duration(to - from)}`),
        saga.wakeAt === null ? null : h("span", null, `due ${when(saga.wakeAt)}`),
        saga.parentId === null ? null : h("span", null, "part of ", link(saga.parentId)),
        ...children.map((child) => h("span", null, "child ", link(child.id), " ", badge(child.status))),
      ),
      saga.error === null ? null : h("p", { class: "error" }, saga.error),
      h("ol", { class: "flow" }, ...units.map((unit, index) => drawUnit(unit, index, units, from, to))),
      h(
        "p",
        { class: "legend" },
        ...Object.entries(legend).map(([type, text]) =>
          h(
            "span",
            null,
            svg("svg", { viewBox: "0 0 10 10" }, svg("rect", { class: `seg ${type}`, width: 10, height: 10 })),
            text,
          ),
        ),
      ),
    ),
    h(
      "section",
      { class: "panel" },
      h("h3", null, "Log"),
      h("div", { class: "scroll" }, h("table", null, h("thead", null, logHead), h("tbody", null, ...lines))),
    ),
    h("section", { class: "panel" }, h("h3", null, "Input"), h("pre", null, json(saga.input))),
    h("section", { class: "panel" }, h("h3", null, "Results"), h("pre", null, json(saga.results))),
  ];
}

function jobDetail({ job }) {
  return [
    h(
      "section",
      { class: "panel" },
      h(
        "div",
        { class: "top" },
        h("h2", null, job.name),
        job.running ? badge("running") : badge(job.status),
        h("code", null, job.key === null ? job.id : `${job.id} · ${job.key}`),
        actions(job.id, jobActions(job)),
      ),
      h(
        "p",
        { class: "facts" },
        h("span", null, `created ${when(job.createdAt)}`),
        h("span", null, `due ${when(job.runAt)}`),
        job.startedAt === null ? null : h("span", null, `last attempt ${when(job.startedAt)}`),
        job.finishedAt === null ? null : h("span", null, `ended ${when(job.finishedAt)}`),
        h("span", null, `${job.attempts} ${job.attempts === 1 ? "attempt" : "attempts"}`),
        h("span", null, `priority ${job.priority}`),
        job.progress === null ? null : h("span", null, "progress ", progress(job.progress)),
      ),
      job.error === null ? null : h("p", { class: "error" }, job.error),
    ),
    h("section", { class: "panel" }, h("h3", null, "Value"), h("pre", null, json(job.value))),
    job.progress === null
      ? null
      : h("section", { class: "panel" }, h("h3", null, "Progress"), h("pre", null, json(job.progress))),
  ].filter((part) => part !== null);
}

// The page.

let shown = "";

/** The id in the address; a fragment that is not encoded right is taken as it is. */
function chosen() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function show() {
  const id = chosen();
  $("list").hidden = id !== "";
  $("detail").hidden = id === "";
  $("back").hidden = id === "";
  try {
    if (id === "") await loadList();
    else {
      const number = ++calls;
      const found = await call(`detail?id=${encodeURIComponent(id)}`);
      if (number !== calls) return;
      // A drawing that has not changed stays: a selection in it, and the place of the page, are kept.
      const text = JSON.stringify(found);
      const ended = kind === "sagas" ? found.saga.finishedAt : found.job.finishedAt;
      if (text !== shown || ended === null) {
        $("detail").replaceChildren(...(kind === "sagas" ? sagaDetail(found) : jobDetail(found)));
      }
      shown = text;
    }
    tell(`as of ${clock.format(Date.now())}`);
  } catch (error) {
    if (id !== chosen()) return;
    if (id !== "") $("detail").replaceChildren();
    tell(error.message, true);
  }
}

for (const button of document.querySelectorAll("[data-status]")) {
  button.addEventListener("click", () => {
    filter.status = button.dataset.status;
    for (const other of document.querySelectorAll("[data-status]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    void show();
  });
}
$("name").addEventListener("input", () => {
  filter.name = $("name").value.trim();
  void show();
});
$("more").addEventListener("click", () => loadList(true).catch((error) => tell(error.message, true)));
addEventListener("hashchange", () => {
  shown = "";
  void show();
});
// Further pages are not loaded again: they would jump.
setInterval(() => {
  if (!document.hidden && (items.length <= 50 || location.hash.length > 1)) void show();
}, 2000);
void show();
