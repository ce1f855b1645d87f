import { pageResponse } from "../../http/page-response.js";
import type { Response } from "../../http/response.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { escapeHtml } from "../../kit/pages/escape-html.js";
import { htmlPage } from "../../kit/pages/html-page.js";
import { relativeAddress } from "../../routing/pattern.js";

/** One of the two user interfaces. */
export interface Interface {
  /** Files that scripts/copy-assets.mjs copies into the package. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  /** Starts it; `document.currentScript.dataset` has the address of the document and the nonce. */
  readonly start: string;
  /** Styles that its scripts add before they can be told the nonce: the hashes of their texts. */
  readonly styleHashes: readonly string[];
  /** Sources that its policy allows beyond those of every page. */
  readonly policy: readonly string[];
}

export const swaggerUi: Interface = {
  styles: ["swagger-ui.css"],
  scripts: ["swagger-ui-bundle.js"],
  start: `const { openapi } = document.currentScript.dataset;
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
SwaggerUIBundle({
  url: openapi,
  dom_id: "#ui",
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  validatorUrl: null,
});
`,
  styleHashes: [],
  policy: [],
};

export const redoc: Interface = {
  styles: [],
  scripts: ["redoc.standalone.js"],
  // Redoc takes its colours once, so the page is loaded again when the scheme changes.
  start: `const { openapi, nonce } = document.currentScript.dataset;
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => location.reload());
document.documentElement.classList.toggle("dark-mode", dark.matches);
const theme = {
  colors: {
    primary: { main: "#7cb7ff" },
    success: { main: "#5fd38d" },
    warning: { main: "#f0b45a" },
    error: { main: "#ff8a80" },
    text: { primary: "#e3e6e8", secondary: "#aab2b8" },
    border: { dark: "#3d464c", light: "#2c3338" },
    responses: {
      success: { color: "#5fd38d", backgroundColor: "#16291f", tabTextColor: "#18a058" },
      error: { color: "#ff8a80", backgroundColor: "#33191a", tabTextColor: "#e5484d" },
      redirect: { color: "#f0b45a", backgroundColor: "#32260f", tabTextColor: "#c77700" },
      info: { color: "#7cb7ff", backgroundColor: "#14253a", tabTextColor: "#2f80ed" },
    },
  },
  schema: { nestedBackground: "#23292d", typeNameColor: "#aab2b8", typeTitleColor: "#e3e6e8" },
  typography: { code: { color: "#ff9d7a", backgroundColor: "#2a3135" }, links: { color: "#7cb7ff" } },
  sidebar: { backgroundColor: "#171b1d", textColor: "#e3e6e8" },
  rightPanel: { backgroundColor: "#12171a" },
};
Redoc.init(openapi, { sanitize: true, nonce, theme: dark.matches ? theme : {} }, document.getElementById("ui"));
`,
  // An empty element, which is filled by script, and the style of its scroll bars.
  styleHashes: [
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
    "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='",
  ],
  // Its search runs in a worker that it makes from its own text.
  policy: ["worker-src blob:"],
};

/** Colours that the theme of Redoc does not reach: titles of parameters and bodies, chosen tabs, types and patterns. */
const redocStyle = `.dark-mode .redoc-wrap h5 { color: #aab2b8; border-color: #3d464c; }
.dark-mode .redoc-wrap h5 span, .dark-mode .redoc-wrap h5 select { color: #e3e6e8; }
.dark-mode .redoc-wrap h5 option { color: #12171a; }
.dark-mode .redoc-wrap .react-tabs__tab--selected.react-tabs__tab--selected { background: #e3e6e8; color: #12171a; }
.dark-mode .redoc-wrap td div > span + span { color: #6fc3cc; }`;

const pageStyle = `body { margin: 0; }
.pages { display: flex; gap: 1.25rem; justify-content: flex-end; padding: 0.6rem 1.25rem; font: 13px/1.5 system-ui, sans-serif; }
.pages a { color: #a8461c; }
@media (prefers-color-scheme: dark) { .dark-mode body { background: #1c2022; } .dark-mode .pages a { color: #f0956a; } }
${redocStyle}`;

export interface PageParts {
  readonly title: string;
  /** Path of the page; its files are below it. */
  readonly path: string;
  readonly openapiPath: string;
  /** The other pages about the API: titles and paths. */
  readonly others: readonly (readonly [title: string, path: string])[];
  /** Origins, beside the page's own, that requests may be tried on. */
  readonly origins: readonly string[];
}

/**
 * The page of a user interface. A fresh nonce for each response lets its scripts run and no others, and nothing is loaded
 * from elsewhere. All addresses are relative, so that the page works behind a proxy that adds a prefix.
 */
export function documentationPage(ui: Interface, parts: PageParts): Response {
  const nonce = nodeCrypto().randomBytes(16).toString("base64");
  const folder = parts.path.slice(parts.path.lastIndexOf("/") + 1);
  const styles = ui.styles.map((name) => `<link rel="stylesheet" href="${folder}/${name}" nonce="${nonce}">`);
  const scripts = ui.scripts.map((name) => `<script src="${folder}/${name}" nonce="${nonce}"></script>`);
  const address = escapeHtml(relativeAddress(parts.path, parts.openapiPath));
  const links = parts.others.map(
    ([title, path]) => `<a href="${escapeHtml(relativeAddress(parts.path, path))}">${title}</a>`,
  );
  const head = `<link rel="icon" href="data:,">
<style nonce="${nonce}">${pageStyle}</style>
${styles.join("\n")}`;
  const body = `<nav class="pages">${links.join("")}</nav>
<div id="ui"></div>
<noscript>This page needs JavaScript. The document it shows: <a href="${address}">${address}</a></noscript>
${scripts.join("\n")}
<script src="${folder}/start.js" nonce="${nonce}" data-openapi="${address}" data-nonce="${nonce}"></script>`;
  return pageResponse(htmlPage(parts.title, head, body), [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    ["style-src", `'nonce-${nonce}'`, ...ui.styleHashes].join(" "),
    "img-src 'self' data:",
    `connect-src ${["'self'", ...parts.origins].join(" ")}`,
    "frame-ancestors 'self'",
    ...ui.policy,
  ]);
}
