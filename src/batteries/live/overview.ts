import { filterFields } from "../../console/page.js";

/** The part of the page above the panels of features, before its first event. */
export const overview = `<section id="charts" aria-label="Pulse">
${card("requests", "Requests", ["all", "errors"])}
${card("latency", "Latency", ["p50", "p95", "p99"])}
${card("memory", "Memory", ["resident", "heap"])}
${card("loop", "Event loop", ["delay"])}
</section>
<section id="requests" class="panel" aria-label="Requests">
<div class="bar">
<h2>Requests <span id="request-count" class="count"></span></h2>
<div class="fields">${filterFields([
  { name: "status", label: "Status", choices: ["2xx", "3xx", "4xx", "5xx"] },
  { name: "text", label: "Filter by path or method" },
])}</div>
</div>
<div class="scroll">
<table>
<thead><tr><th>Time</th><th>Method</th><th>Path</th><th>Status</th><th class="number">Duration</th><th class="number">Size</th></tr></thead>
<tbody id="rows"></tbody>
</table>
<p id="no-requests" class="empty">No requests yet. They appear here as they end.</p>
</div>
</section>`;

function card(id: string, title: string, lines: readonly string[]): string {
  const legend = lines.map(
    (line, i) => `<li class="line${i}"><i></i><span>${line}</span> <b data-line="${i}"></b></li>`,
  );
  return `<article class="card" id="${id}-card">
<h2>${title}</h2>
<p class="value"><b>–</b> <span></span></p>
<figure><svg viewBox="0 0 600 120" preserveAspectRatio="none" aria-hidden="true"></svg><span class="top"></span></figure>
<ul class="legend">${legend.join("")}</ul>
</article>`;
}
