import type { Request } from "../../http/request.js";
import { escapeHtml } from "../../kit/pages/escape-html.js";
import { plainFields } from "../../logging/plain.js";
import { isSecretName, redacted } from "../../logging/secrets.js";
import { causesOf, cureOf, describeError, innerErrors, isInstance } from "../describe.js";
import { HttpError } from "../http-error.js";
import { type ListedRoute, notFoundPage, pageOf } from "./not-found-page.js";
import { stackSection } from "./page-stack.js";
import type { ErrorPage } from "./render.js";

/** The pages that a browser gets in debug mode: for a path without a route, and for an unexpected error. */
export function developmentPages(routes: readonly ListedRoute[]): ErrorPage {
  return (request, error) =>
    isInstance(error, HttpError) ? notFoundPage(request, routes) : developmentPage(request, error);
}

/**
 * The page that a browser gets for an unexpected error in debug mode. It is one document without scripts that loads
 * nothing. All text of the client and of the error is escaped, and secrets are left out.
 */
export function developmentPage(request: Request, error: unknown): string {
  const description = describeError(error);
  const { name, message } = description;
  return pageOf({
    title: oneLine(`${name}: ${message}`),
    status: 500,
    method: request.method,
    path: shownPath(request),
    heading: name,
    message: message === "" ? "<em>no message</em>" : escapeHtml(message),
    main: `${cureNote(error)}${stackSection(description)}
${propertiesOf(error)}
${related(error)}
${requestSection(request)}`,
    otherwise: `a plain “Internal Server Error”, and the details go to the log. Node.js ${escapeHtml(process.version)}`,
  });
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

function cureNote(error: unknown): string {
  const text = cureOf(error);
  return text === undefined ? "" : `<p class="cure">${escapeHtml(text)}</p>\n`;
}

/** The properties of an error beside its message, such as `code` or `sqlstate`. */
function propertiesOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const shown = Object.entries(plainFields(error as Record<string, unknown>))
    .filter(([key]) => !["name", "message", "stack", "cause", "errors"].includes(key))
    .map(([key, value]): [string, string] => [key, typeof value === "string" ? value : JSON.stringify(value, null, 2)]);
  return table("Properties of the error", shown);
}

function related(error: unknown): string {
  const causes = causesOf(error).map((cause) => relatedError("Caused by", cause));
  const parts = innerErrors(error).map((part) => relatedError("One of several", part));
  return [...parts, ...causes].join("\n");
}

function relatedError(label: string, error: unknown): string {
  const description = describeError(error);
  return `<section class="cause">
<p class="label">${label}</p>
<h2>${escapeHtml(description.name)}</h2>
<p class="message">${escapeHtml(description.message)}</p>
${stackSection(description)}
${propertiesOf(error)}
</section>`;
}

function requestSection(request: Request): string {
  const parts = [
    table("Path parameters", Object.entries(request.params), isSecretField),
    table("Query", [...request.query], isSecretField),
    table("Headers", [...request.headers], isSecretField),
  ];
  return `<section class="request">
<h2>Request</h2>
<p class="line"><span class="method">${escapeHtml(request.method)}</span> <span class="path">${escapeHtml(shownPath(request))}</span>${request.pattern === null ? "" : ` <span class="note">handled by <code>${escapeHtml(request.pattern)}</code></span>`}</p>
${parts.join("\n")}
</section>`;
}

/** In a request these hold one-time codes, keys and signatures; the `code` of an error is none of them. */
const secretFields: ReadonlySet<string> = new Set(["code", "key", "sig", "signature", "otp"]);

function isSecretField(name: string): boolean {
  return secretFields.has(name.toLowerCase()) || isSecretName(name);
}

/** The path, or the pattern of its route where a parameter holds a secret: `/reset/{token}`. */
function shownPath(request: Request): string {
  const isSecret = Object.keys(request.params).some(isSecretField);
  return isSecret && request.pattern !== null ? request.pattern : request.path;
}

function table(
  title: string,
  rows: readonly (readonly [name: string, value: string])[],
  isSecret: (name: string) => boolean = isSecretName,
): string {
  if (rows.length === 0) return "";
  const cells = rows.map(([name, value]) => {
    const hidden = isSecret(name) || value === redacted;
    const shown = hidden ? `<span class="hidden">${redacted}</span>` : escapeHtml(value);
    return `<div><dt>${escapeHtml(name)}</dt><dd>${shown}</dd></div>`;
  });
  return `<h3>${title}</h3>\n<dl>${cells.join("\n")}</dl>`;
}
