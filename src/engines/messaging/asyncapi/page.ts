import { pageResponse } from "../../../http/page-response.js";
import type { Response } from "../../../http/response.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import { escapeHtml } from "../../../kit/pages/escape-html.js";
import { htmlPage } from "../../../kit/pages/html-page.js";
import { pageGround } from "../../../kit/pages/page-style.js";
import { relativeAddress } from "../../../routing/pattern.js";
import type { JsonSchema } from "../../../validation/json-schema.js";
import { isSchema } from "../../../validation/schema-walk.js";
import type { AsyncApiDocument, AsyncApiMessage, AsyncApiOperation } from "./types.js";

const style = `${pageGround}
body { max-width: 60rem; margin: 0 auto; padding: 0 1.5rem 3rem; }
a { color: var(--accent); text-underline-offset: 0.15em; }
header { padding: 1.5rem 0 1rem; }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; justify-content: flex-end; font-size: 0.8125rem; }
h1 { font-size: 1.5rem; font-weight: 650; letter-spacing: -0.02em; overflow-wrap: anywhere; } h1 span { color: var(--soft); font-weight: 400; }
h2 { font: 600 1rem/1.5 var(--mono); overflow-wrap: anywhere; } h3 { font-size: 0.8125rem; font-weight: 600; padding: 0.9rem 1.1rem 0.2rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 0.8rem; margin-top: 1rem; overflow: hidden; }
.bar { padding: 0.75rem 1.1rem; border-bottom: 1px solid var(--line); }
.text { color: var(--soft); font-size: 0.875rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.operations li { padding: 0.6rem 1.1rem 0; font-size: 0.875rem; overflow-wrap: anywhere; }
.badge { font-size: 0.75rem; font-weight: 600; border-radius: 0.35rem; padding: 0.1rem 0.5rem; margin-right: 0.4rem; white-space: nowrap; }
.receive { color: var(--green); background: var(--green-ground); } .send { color: var(--blue); background: var(--blue-ground); }
.scroll { overflow-x: auto; } table { width: 100%; border-collapse: collapse; font-size: 0.8125rem; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: 0.75rem; padding: 0.4rem 1.1rem; }
td { border-top: 1px solid var(--line); padding: 0.38rem 1.1rem; vertical-align: top; overflow-wrap: anywhere; }
td:first-child { font-family: var(--mono); white-space: nowrap; } .soft { color: var(--soft); }
.depth-1 { padding-left: 2.3rem; } .depth-2 { padding-left: 3.5rem; } .depth-3 { padding-left: 4.7rem; }
summary { cursor: pointer; color: var(--soft); font-size: 0.8125rem; padding: 0.6rem 1.1rem; border-top: 1px solid var(--line); }
pre { font: 0.75rem/1.6 var(--mono); padding: 0 1.1rem 0.75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.empty { color: var(--soft); font-size: 0.875rem; padding: 0.6rem 1.1rem 0.9rem; }
@media (max-width: 46rem) { body { padding: 0 0.75rem 1.5rem; } }
`;

/** Objects inside of objects that are written out. Deeper ones are in the JSON Schema below the table. */
const deepest = 3;

/** The page of a document: it is written out here, so it has no script and loads nothing. */
export function asyncapiPage(
  document: AsyncApiDocument,
  path: string,
  links: readonly (readonly [title: string, path: string])[],
): Response {
  const { title, version, description = "" } = document.info;
  const channels = Object.entries(document.channels);
  const schemas = Object.entries(document.components?.schemas ?? {});
  const body = `<header>
<nav aria-label="Documentation">${links
    .map(([label, to]) => `<a href="${escapeHtml(relativeAddress(path, to))}">${label}</a>`)
    .join("")}</nav>
<h1>${escapeHtml(title)} <span>${escapeHtml(version)}</span></h1>
${paragraph(description)}
</header>
<main>
${channels.map(([id]) => channelSection(document, id)).join("\n")}
${channels.length === 0 ? '<p class="empty">The application has no handlers and publishes no topics.</p>' : ""}
${schemas.map(([name, schema]) => schemaSection(name, schema)).join("\n")}
</main>`;
  const hash = nodeCrypto().createHash("sha256").update(style).digest("base64");
  const policy = ["default-src 'none'", `style-src 'sha256-${hash}'`, "img-src data:", "frame-ancestors 'self'"];
  const head = `<link rel="icon" href="data:,">\n<style>${style}</style>`;
  return pageResponse(htmlPage(title, head, body), policy);
}

function channelSection(document: AsyncApiDocument, id: string): string {
  const channel = document.channels[id]!;
  const reference = `#/channels/${id}`;
  const operations = Object.values(document.operations).filter((operation) => operation.channel.$ref === reference);
  return `<section id="${escapeHtml(id)}">
<div class="bar"><h2>${escapeHtml(channel.address ?? id)}</h2>${paragraph(channel.description ?? "")}</div>
<ul class="operations">${operations.map(operationItem).join("")}</ul>
${Object.values(channel.messages).map(messagePart).join("\n")}
</section>`;
}

function operationItem(operation: AsyncApiOperation): string {
  const { action, summary = "", description = "" } = operation;
  const reply = operation["reply"] as { readonly channel: { readonly $ref: string } } | undefined;
  const to = reply && escapeHtml(reply.channel.$ref.slice("#/channels/".length));
  const facts = [
    fact("group", operation["x-group"]),
    operation["x-broadcast"] === true ? "every process gets each message" : "",
    fact("dead letters", operation["x-dead-letter"]),
    to === undefined ? "" : `replies: <a href="#${to}"><code>${to}</code></a>`,
  ].filter((text) => text !== "");
  return `<li><span class="badge ${action}">${action === "receive" ? "handled here" : "published here"}</span>${escapeHtml(summary)}
${facts.length > 0 ? `<p class="soft">${facts.join(", ")}</p>` : ""}${paragraph(description)}</li>`;
}

function fact(label: string, value: unknown): string {
  return typeof value === "string" ? `${label} <code>${escapeHtml(value)}</code>` : "";
}

function messagePart({ name, payload }: AsyncApiMessage): string {
  const link = linkOf(payload);
  return `<h3>${link === undefined ? escapeHtml(name) : `Value: ${link}`}</h3>${link === undefined ? schemaParts(payload) : ""}`;
}

function schemaSection(name: string, schema: JsonSchema): string {
  const head = `<div class="bar"><h2>${escapeHtml(name)}</h2>${paragraph(textOf(schema["description"]))}</div>`;
  return `<section id="schema-${escapeHtml(name)}">${head}${schemaParts(schema)}</section>`;
}

function schemaParts(schema: JsonSchema): string {
  const rows = rowsOf(schema, 0);
  if (rows.length === 0) return `<p class="empty">${typeOf(schema)}</p>`;
  return `<div class="scroll"><table><thead><tr><th>name</th><th>type</th><th>description</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>
<details><summary>JSON Schema</summary><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre></details>`;
}

function rowsOf(schema: JsonSchema, depth: number): string[] {
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(properties).flatMap(([name, given]) => {
    const property = isSchema(given) ? given : {};
    const optional = required.includes(name) ? "" : '<span class="soft">?</span>';
    const row = `<tr><td class="depth-${depth}">${escapeHtml(name)}${optional}</td><td>${typeOf(property)}</td><td>${notesOf(property)}</td></tr>`;
    const inner = isSchema(property["items"]) ? property["items"] : property;
    return [row, ...(depth < deepest ? rowsOf(inner, depth + 1) : [])];
  });
}

function typeOf(schema: JsonSchema): string {
  const link = linkOf(schema);
  if (link !== undefined) return link;
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => shown(value)).join(" or ");
  if ("const" in schema) return shown(schema["const"]);
  for (const key of ["anyOf", "oneOf"]) {
    const choices = schema[key];
    if (Array.isArray(choices)) return choices.map((choice) => typeOf(isSchema(choice) ? choice : {})).join(" or ");
  }
  if (isSchema(schema["items"])) return `list of ${typeOf(schema["items"])}`;
  const types = [schema["type"] ?? "anything"].flat();
  const format = textOf(schema["format"]);
  return escapeHtml(`${types.join(" or ")}${format && ` (${format})`}`);
}

function notesOf(schema: JsonSchema): string {
  const bounds = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "minLength", "maxLength", "pattern"];
  // Every integer of JavaScript has these bounds.
  const isSafe = (value: unknown) => Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER;
  const facts = [...bounds, "default"]
    .filter((key) => key in schema && !isSafe(schema[key]))
    .map((key) => `<span class="soft">${key} ${shown(schema[key])}</span>`);
  return [escapeHtml(textOf(schema["description"])), ...facts].filter((text) => text !== "").join(" ");
}

/** The link to a shared schema; undefined for one that is written out. */
function linkOf({ $ref }: JsonSchema): string | undefined {
  if (typeof $ref !== "string") return undefined;
  const name = escapeHtml($ref.slice($ref.lastIndexOf("/") + 1));
  return `<a href="#schema-${name}">${name}</a>`;
}

function shown(value: unknown): string {
  return `<code>${escapeHtml(JSON.stringify(value) ?? "")}</code>`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function paragraph(text: string): string {
  return text === "" ? "" : `<p class="text">${escapeHtml(text)}</p>`;
}
