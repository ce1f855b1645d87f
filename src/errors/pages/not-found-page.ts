import type { Request } from "../../http/request.js";
import { escapeHtml } from "../../kit/pages/escape-html.js";
import { htmlPage } from "../../kit/pages/html-page.js";
import { pageStyle } from "./page-style.js";

/** A route as the page lists it. */
export interface ListedRoute {
  readonly methods: readonly string[];
  readonly path: string;
  readonly summary?: string | undefined;
}

/** Routes that the page lists. */
const maxRoutes = 200;

/** The page that a browser gets in debug mode for an address without a route: the routes that there are. */
export function notFoundPage(request: Request, routes: readonly ListedRoute[]): string {
  const rows = routes.slice(0, maxRoutes).map(row).join("\n");
  const more = routes.length > maxRoutes ? `<p class="note">and ${routes.length - maxRoutes} more</p>` : "";
  return pageOf({
    title: "Not found",
    status: 404,
    method: request.method,
    path: request.path,
    heading: "Not found",
    message: "No route has this path.",
    main: `<section>
<h2>${routes.length === 0 ? "The application has no routes yet" : "Routes of the application"}</h2>
${rows === "" ? '<p class="note">Register one: <code>app.get("/", () => "hello")</code></p>' : `<dl>\n${rows}\n</dl>`}
${more}
</section>`,
    otherwise: "a short problem document.",
  });
}

/** A page of debug mode. Title, path and heading are escaped here, the other texts are HTML. */
export function pageOf(
  page: Readonly<Record<"title" | "method" | "path" | "heading" | "message" | "main" | "otherwise", string>> & {
    readonly status: number;
  },
): string {
  const head = `<meta name="robots" content="noindex">\n<style>${pageStyle}</style>`;
  const body = `<header>
<div class="wide">
<p class="where"><span class="status">${page.status}</span> <span class="method">${escapeHtml(page.method)}</span> <span class="path">${escapeHtml(page.path)}</span></p>
<h1>${escapeHtml(page.heading)}</h1>
<p class="message">${page.message}</p>
</div>
</header>
<main class="wide">
${page.main}
</main>
<footer class="wide">Shown because debug is on. With debug off the response is ${page.otherwise}</footer>`;
  return htmlPage(page.title, head, body);
}

function row({ methods, path, summary }: ListedRoute): string {
  const text = summary === undefined ? escapeHtml(path) : `${escapeHtml(path)} <em>${escapeHtml(summary)}</em>`;
  return `<div><dt>${escapeHtml(methods.join(", "))}</dt><dd>${text}</dd></div>`;
}
