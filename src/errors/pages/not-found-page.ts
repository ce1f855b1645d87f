import type { Request } from "../../http/request.js";
import { escapeHtml } from "../../kit/pages/escape-html.js";
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
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Not found</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<div class="wide">
<p class="where"><span class="status">404</span> <span class="method">${escapeHtml(request.method)}</span> <span class="path">${escapeHtml(request.path)}</span></p>
<h1>Not found</h1>
<p class="message">No route has this path.</p>
</div>
</header>
<main class="wide">
<section>
<h2>${routes.length === 0 ? "The application has no routes yet" : "Routes of the application"}</h2>
${rows === "" ? '<p class="note">Register one: <code>app.get("/", () => "hello")</code></p>' : `<dl>\n${rows}\n</dl>`}
${more}
</section>
</main>
<footer class="wide">Shown because debug is on. With debug off the response is a short problem document.</footer>
</body>
</html>
`;
}

function row({ methods, path, summary }: ListedRoute): string {
  const text = summary === undefined ? escapeHtml(path) : `${escapeHtml(path)} <em>${escapeHtml(summary)}</em>`;
  return `<div><dt>${escapeHtml(methods.join(", "))}</dt><dd>${text}</dd></div>`;
}
