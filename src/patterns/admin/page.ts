import { inlinePolicy, pageScript } from "../../internal/inline-page.js";
import { pageStyle } from "./page-style.js";

export type AdminKind = "sagas" | "jobs";

export interface AdminPage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

/** The statuses that the page offers as filters. */
const statuses: Readonly<Record<AdminKind, readonly string[]>> = {
  sagas: ["running", "waiting", "compensating", "parked", "completed", "compensated", "aborted"],
  jobs: ["waiting", "done", "failed", "cancelled"],
};

/** The page: one document that loads nothing but its own data. */
export async function adminPage(kind: AdminKind): Promise<AdminPage> {
  const script = await pageScript("patterns", "admin", "client.js");
  return { html: markup(kind, script), contentSecurityPolicy: inlinePolicy(pageStyle, script) };
}

function markup(kind: AdminKind, script: string): string {
  const chips = statuses[kind].map(
    (status) => `<button type="button" data-status="${status}" aria-pressed="false">${status}</button>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Stoa ${kind}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style>${pageStyle}</style>
</head>
<body data-kind="${kind}">
<header>
<a class="brand" href="#">${logo}<h1>Stoa <span>${kind}</span></h1></a>
<p id="state" role="status">loading</p>
</header>
<main>
<section id="list" class="panel">
<div class="bar">
<div class="chips" role="group" aria-label="Status">
<button type="button" data-status="" aria-pressed="true">all</button>${chips.join("")}
</div>
<input id="name" type="search" placeholder="Name" aria-label="Filter by name" spellcheck="false">
</div>
<div class="scroll"><table><thead><tr id="head"></tr></thead><tbody id="rows"></tbody></table></div>
<p id="empty" class="empty" hidden>Nothing here.</p>
<button id="more" type="button" hidden>More</button>
</section>
<p id="back" hidden><a href="#">All ${kind}</a></p>
<section id="detail" hidden></section>
</main>
<script type="module">${script}</script>
</body>
</html>
`;
}

/** The logo: three columns under a roof. */
const columns = `<path d="M12 2 22 7v2H2V7z"/><path d="M4.5 10.5h3v8h-3zm6 0h3v8h-3zm6 0h3v8h-3zM2 20h20v2H2z"/>`;
const logo = `<svg class="logo" viewBox="0 0 24 24" aria-hidden="true">${columns}</svg>`;
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="#b4532a">${columns}</svg>`;
