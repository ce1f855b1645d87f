/** The page before its first event. */
export function pageMarkup(style: string, script: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Stoa live</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style>${style}</style>
</head>
<body>
<header>
<div class="brand">${logo}<h1>Stoa <span>live</span></h1></div>
<p id="facts"></p>
<p id="state" role="status" data-state="waiting"><span class="dot"></span><span id="state-text">connecting</span></p>
<button id="pause" type="button" aria-pressed="false">Pause</button>
</header>
<main>
<section id="charts" aria-label="Pulse">
${card("requests", "Requests", "per second", ["all", "errors"])}
${card("latency", "Latency", "95th percentile", ["p50", "p95", "p99"])}
${card("memory", "Memory", "resident", ["resident", "heap"])}
${card("loop", "Event loop", "longest delay", ["delay"])}
</section>
<section id="requests" class="panel">
<div class="bar">
<h2>Requests <span id="request-count" class="count"></span></h2>
<div class="chips" role="group" aria-label="Status">
<button type="button" data-filter="" aria-pressed="true">All</button>
<button type="button" data-filter="2" aria-pressed="false">2xx</button>
<button type="button" data-filter="3" aria-pressed="false">3xx</button>
<button type="button" data-filter="4" aria-pressed="false">4xx</button>
<button type="button" data-filter="5" aria-pressed="false">5xx</button>
</div>
<input id="search" type="search" placeholder="Filter by path or method" aria-label="Filter requests" spellcheck="false">
</div>
<div class="scroll">
<table>
<thead><tr><th>Time</th><th>Method</th><th>Path</th><th>Status</th><th class="number">Duration</th><th class="number">Size</th></tr></thead>
<tbody id="rows"></tbody>
</table>
<p id="no-requests" class="empty">No requests yet. They appear here as they end.</p>
</div>
</section>
<div id="panels"></div>
<div class="side">
<section class="panel" id="health-panel">
<div class="bar"><h2>Health</h2><span id="health-status" class="badge" hidden></span></div>
<ul id="checks"></ul>
<p id="no-health" class="empty" hidden>There are no health checks: <code>app.healthCheck("name", check)</code> adds one.</p>
</section>
<section class="panel" id="routes-panel">
<div class="bar"><h2>Routes <span id="route-count" class="count"></span></h2></div>
<ul id="routes"></ul>
<details id="own-routes" hidden><summary>Routes of the framework <span id="own-count" class="count"></span></summary><ul id="internal-routes"></ul></details>
</section>
</div>
</main>
<div id="tip" hidden></div>
<script type="module">${script}</script>
</body>
</html>
`;
}

function card(id: string, title: string, unit: string, lines: readonly string[]): string {
  const legend = lines.map((line, i) => `<li class="line${i}"><i></i>${line} <b data-line="${i}"></b></li>`).join("");
  return `<article class="card" id="${id}-card">
<h2>${title}</h2>
<p class="value"><b>–</b> <span>${unit}</span></p>
<figure><svg viewBox="0 0 600 120" preserveAspectRatio="none" aria-hidden="true"></svg><span class="top"></span></figure>
<ul class="legend">${legend}</ul>
</article>`;
}

/** The logo: three columns under a roof. */
const columns = `<path d="M12 2 22 7v2H2V7z"/><path d="M4.5 10.5h3v8h-3zm6 0h3v8h-3zm6 0h3v8h-3zM2 20h20v2H2z"/>`;
const logo = `<svg class="logo" viewBox="0 0 24 24" aria-hidden="true">${columns}</svg>`;
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="#b4532a">${columns}</svg>`;
