import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pageResponse } from "../http/page-response.js";
import type { Response } from "../http/response.js";
import { nodeCrypto } from "../kit/node-modules.js";
import { packageFolder } from "../kit/package-folder.js";
import { escapeHtml } from "../kit/pages/escape-html.js";
import { htmlPage } from "../kit/pages/html-page.js";
import { missingFile, readOnce } from "../kit/pages/page-files.js";
import { relativeAddress } from "../routing/pattern.js";
import type { ConsoleFilter, ConsoleSection } from "./section.js";
import { consoleStyle } from "./style.js";

/** A page: one document that loads nothing but its own data. */
export async function consolePage(section: ConsoleSection, all: readonly ConsoleSection[]): Promise<Response> {
  const script = await clientScript("client.js");
  return pageResponse(markup(section, all, script), policy(script));
}

/**
 * The script is a separate file, so that it can be checked as a program. It is read from the sources where they are:
 * the copy in a folder that was built before may be older.
 */
const clientScript = readOnce((name: string) => {
  const file = (folder: string) => readFile(join(packageFolder(), folder, "console", name), "utf8");
  return file("src").catch(() =>
    file("dist").catch((error) => {
      throw missingFile(name, error);
    }),
  );
});

/** Style and script are named by their hashes, so nothing else that might get into the page is applied or run. */
function policy(script: string): string[] {
  const hash = (text: string) => `sha256-${nodeCrypto().createHash("sha256").update(text).digest("base64")}`;
  return [
    "default-src 'none'",
    `style-src '${hash(consoleStyle)}'`,
    `script-src '${hash(script)}'`,
    "connect-src 'self'",
    "img-src data:",
    "frame-ancestors 'none'",
  ];
}

function markup(section: ConsoleSection, all: readonly ConsoleSection[], script: string): string {
  const { title, path, filters = [], overview = "" } = section;
  const links = all.map((other) => {
    const current = other === section ? ' aria-current="page"' : "";
    return `<a href="${escapeHtml(relativeAddress(path, other.path))}"${current}>${escapeHtml(other.title)}</a>`;
  });
  const head = `<meta name="robots" content="noindex">
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style>${consoleStyle}</style>`;
  const body = `<header>
<div class="brand">${logo}<h1>Stoa <span>${escapeHtml(title.toLowerCase())}</span></h1></div>
${links.length > 1 ? `<nav aria-label="Console">${links.join("")}</nav>` : ""}
<p id="facts"></p>
<p id="state" role="status" data-state="waiting"><span class="dot"></span><span id="state-text">connecting</span></p>
<button id="pause" type="button" aria-pressed="false">Pause</button>
</header>
<main>
${overview}
${section.view ? `<p id="back" hidden><a href="#">All ${escapeHtml(title.toLowerCase())}</a></p>` : ""}
${filters.length > 0 ? `<div id="filters" class="fields">${filterFields(filters)}</div>` : ""}
<div id="panels"></div>
<button id="more" type="button" hidden>More</button>
<div id="side"></div>
</main>
<script type="module">${script}</script>`;
  return htmlPage(`${title} - Stoa`, head, body);
}

/** Fields whose values the script reads by their names. */
export function filterFields(filters: readonly ConsoleFilter[]): string {
  return filters
    .map(({ choices, check, ...texts }) => {
      const [name, label] = [escapeHtml(texts.name), escapeHtml(texts.label)];
      if (check) return `<label><input type="checkbox" name="${name}"> ${label}</label>`;
      if (!choices) {
        return `<input type="search" name="${name}" placeholder="${label}" aria-label="${label}" spellcheck="false">`;
      }
      const chips = ["", ...choices.map(escapeHtml)].map(
        (value) =>
          `<button type="button" data-filter="${name}" data-value="${value}" aria-pressed="${value === ""}">${value || "all"}</button>`,
      );
      return `<div class="chips" role="group" aria-label="${label}">${chips.join("")}</div>`;
    })
    .join("");
}

/** The logo: three columns under a roof. */
const columns = `<path d="M12 2 22 7v2H2V7z"/><path d="M4.5 10.5h3v8h-3zm6 0h3v8h-3zm6 0h3v8h-3zM2 20h20v2H2z"/>`;
const logo = `<svg class="logo" viewBox="0 0 24 24" aria-hidden="true">${columns}</svg>`;
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="#b4532a">${columns}</svg>`;
