import { consolePaths, consoleSection } from "../../console/add-section.js";
import { filterFields } from "../../console/page.js";
import { livePanels } from "../../console/panels.js";
import type { Host } from "../../feature/host.js";
import { Response } from "../../http/response.js";
import { currentHealth } from "../health/feature.js";
import { LiveServer } from "./live-server.js";
import type { LivePageSettings } from "./options.js";
import { listRoutes } from "./route-list.js";

/** Adds the page and its stream of events. Only developers need it, so it is loaded on demand. */
export function addLivePage(host: Host, { path, hosts, requests }: LivePageSettings): LiveServer {
  const live = new LiveServer({
    requests,
    routes: () => listRoutes(host.routes, host.scope),
    health: () => currentHealth(host),
    panels: () => livePanels(host).read(),
    skipped: consolePaths(host),
    serving: () => host.phase === "started",
  });
  host.use(live.middleware);
  const events = (): Response => Response.sse((signal) => live.events(signal), { retry: "1s" });
  consoleSection(host, { title: "Live", path, hosts, overview, calls: { events } });
  return live;
}

/** The part of the page above the panels of features, before its first event. */
const overview = `<section id="charts" aria-label="Pulse">
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
