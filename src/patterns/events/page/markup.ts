import { escapeHtml } from "../../../internal/escape-html.js";
import type { Inspection, ShownEvent } from "./inspect.js";
import { eventPageStyle } from "./style.js";

/** Characters of a payload that are shown. */
const longestPayload = 20_000;
/** Steps of a chain that are moved to the right. */
const deepest = 8;

/** The page: it has no script and loads nothing. */
export function pageHtml(inspection: Inspection, path: string): string {
  const { view, mark, streams, subscriptions } = inspection;
  const chosen =
    view.kind === "stream" ? view.stream : view.kind === "chain" ? `Chain ${view.correlation}` : "All streams";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(chosen)} - Events</title>
<style>${eventPageStyle}</style>
</head>
<body>
<header>
<h1><a href="${escapeHtml(path)}">Events</a> <span>${escapeHtml(chosen)}</span></h1>
<form method="get" action="${escapeHtml(path)}">
<label>Stream <input name="stream" value="${view.kind === "stream" ? escapeHtml(view.stream) : ""}" placeholder="order-1"></label>
<label class="check"><input type="checkbox" name="archived" value="1"${view.kind === "stream" && view.archived ? " checked" : ""}> with archive</label>
<button>Show</button>
</form>
<p class="facts">last position <b>${mark}</b> <a href="${escapeHtml(path.slice(0, path.lastIndexOf("/")))}">Live page</a></p>
</header>
<main>
<section class="events">
<h2>${view.kind === "all" ? "Newest events" : view.kind === "stream" ? "Events of the stream, newest first" : "Events of the chain, each below its cause"}</h2>
${inspection.events.length === 0 ? '<p class="empty">There are no events here.</p>' : `<ol>${inspection.events.map((one) => eventHtml(one, path)).join("")}</ol>`}
</section>
<div class="side">
<section>
<h2>Subscriptions and projections</h2>
${table(
  ["Name", "Position", "Behind", "Worker"],
  subscriptions.map(({ name, position, lag, owner, failures }) => [
    `${escapeHtml(name)}${failures > 0 ? ' <span class="bad">fails</span>' : ""}`,
    String(position),
    lag === 0 ? '<span class="good">0</span>' : `<span class="warning">${lag}</span>`,
    owner === null ? '<span class="warning">none</span>' : escapeHtml(owner),
  ]),
  "There are no subscriptions.",
)}
</section>
${
  view.kind === "all"
    ? `<section>
<h2>Streams with the newest events</h2>
${table(
  ["Stream", "Version", "Last event"],
  streams.map(({ stream, version, lastType }) => [streamLink(stream, path), String(version), escapeHtml(lastType)]),
  "There are no streams.",
)}
</section>`
    : ""
}
</div>
</main>
</body>
</html>
`;
}

function eventHtml({ event, depth }: ShownEvent, path: string): string {
  const { type, stream, version, position, id, recordedAt, metadata, data } = event;
  const { correlationId } = metadata;
  const chain =
    typeof correlationId === "string"
      ? `<a href="${escapeHtml(`${path}?correlation=${encodeURIComponent(correlationId)}`)}">chain</a>`
      : "";
  return `<li class="depth-${Math.min(depth, deepest)}">
<div class="line"><b>${escapeHtml(type)}</b> ${streamLink(stream, path)} <span class="soft">version ${version}, position ${position}</span> ${chain}</div>
<div class="soft"><time>${escapeHtml(recordedAt.toISOString())}</time> <code>${escapeHtml(id)}</code></div>
<details${depth === 0 ? "" : " open"}><summary>data and metadata</summary>
<pre>${escapeHtml(text(data))}</pre>
<pre class="soft">${escapeHtml(text(metadata))}</pre>
</details>
</li>`;
}

function streamLink(stream: string, path: string): string {
  return `<a href="${escapeHtml(`${path}?stream=${encodeURIComponent(stream.toWellFormed())}`)}">${escapeHtml(stream)}</a>`;
}

function table(columns: readonly string[], rows: readonly (readonly string[])[], empty: string): string {
  if (rows.length === 0) return `<p class="empty">${empty}</p>`;
  const head = columns.map((column) => `<th scope="col">${column}</th>`).join("");
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("");
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function text(value: unknown): string {
  const whole = JSON.stringify(value, null, 2) ?? "null";
  return whole.length > longestPayload ? `${whole.slice(0, longestPayload)}…` : whole;
}
