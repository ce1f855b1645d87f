import { derivedId } from "../../batteries/openapi/operation-id.js";
import type { Host } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import { ValueError } from "../../kit/value-error.js";
import type { RouteDefinition } from "../../routing/definition.js";
import { parsePattern } from "../../routing/pattern.js";
import { pathKind } from "../../routing/tree.js";
import type { JsonSchema } from "../../validation/json-schema.js";
import { objectShape } from "../../validation/schema-walk.js";
import type { McpCall } from "./call.js";
import { routeRequest } from "./call-request.js";
import { checkedName, type ToolAnnotations } from "./declared.js";
import { type Params, RpcError } from "./protocol.js";
import type { PublishedTool } from "./published.js";
import { type RouteToolOptions, routeToolOptions } from "./route-option.js";
import { isObject, joinedDefs, schemaOf } from "./schemas.js";

const hints: Readonly<Record<string, ToolAnnotations>> = {
  GET: { readOnlyHint: true },
  HEAD: { readOnlyHint: true },
  PUT: { idempotentHint: true },
  DELETE: { destructiveHint: true, idempotentHint: true },
};

/** The tool of a route that says that it is one. */
export function routeTool(host: Host, route: RouteDefinition, given: true | RouteToolOptions): PublishedTool {
  const { methods, path, options: settings } = route;
  const owner = `the route ${methods.join(", ")} ${path}`;
  const read = routeToolOptions.read([given === true ? {} : given], `option 'mcp' of ${owner}`);
  if (methods.length !== 1 || settings.form !== undefined || settings.stream === true) {
    throw new ValueError(`${owner} cannot be a tool of MCP: a tool has one method, and a JSON body or none`);
  }
  const method = methods[0]!;
  const name = checkedName(read.name ?? settings.operationId ?? derivedId(method, path), "tool");
  const input = new RouteInput(path, settings, owner);
  const output = settings.response === undefined ? undefined : schemaOf(settings.response, "output");
  const title = read.title ?? settings.summary;
  const description = read.description ?? settings.description;
  return {
    name,
    listed: {
      name,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      inputSchema: input.schema,
      ...(output?.["type"] === "object" && { outputSchema: output }),
      annotations: read.annotations ?? hints[method] ?? {},
    },
    start(outer: Request, given: Params, call: McpCall) {
      const { values, ...target } = input.target(given);
      const request = routeRequest(outer, { method, ...target }, call);
      return { own: request, run: () => host.run(route, request, values) };
    },
  };
}

/** The parameters, the query and the body of a route as one object. */
class RouteInput {
  readonly schema: JsonSchema;
  readonly #path: string;
  readonly #params: readonly string[];
  readonly #query: ReadonlySet<string>;
  /** "flat": its properties stand beside the parameters. "nested": it is the property `body`. */
  readonly #body: "flat" | "nested" | null;

  constructor(path: string, { params, query, body }: RouteDefinition["options"], owner: string) {
    this.#path = path;
    this.#params = parsePattern(path).paramNames;
    const roots = { params: schemaOf(params, "input"), query: schemaOf(query, "input"), body: schemaOf(body, "input") };
    const shapes = [objectShape(roots.params, roots.params), objectShape(roots.query, roots.query)] as const;
    this.#query = new Set(shapes[1].properties.keys());
    const properties = new Map<string, JsonSchema>();
    const required = new Set<string>(this.#params);
    for (const name of this.#params) properties.set(name, shapes[0].properties.get(name)?.[0] ?? { type: "string" });
    for (const [name, [schema]] of shapes[1].properties) {
      if (properties.has(name))
        throw new ValueError(`${owner} cannot be a tool of MCP: '${name}' is in its path and its query`);
      properties.set(name, schema!);
    }
    for (const name of shapes[1].required) required.add(name);
    this.#body = body === undefined ? null : isFlat(roots.body, properties) ? "flat" : "nested";
    if (this.#body === "flat") {
      const shape = objectShape(roots.body, roots.body);
      for (const [name, [schema]] of shape.properties) properties.set(name, schema!);
      for (const name of shape.required) required.add(name);
    } else if (this.#body === "nested") {
      const { $defs: _, $schema: __, ...rest } = roots.body;
      properties.set("body", rest);
      required.add("body");
    }
    const defs = joinedDefs(Object.values(roots));
    if (defs === null) throw new ValueError(`${owner} cannot be a tool of MCP: two of its schemas have one name`);
    this.schema = {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.size > 0 && { required: [...required] }),
      ...(Object.keys(defs).length > 0 && { $defs: defs }),
    };
  }

  target(given: Params): { path: string; search: string; body?: unknown; values: readonly string[] } {
    const values = this.#params.map((name) => {
      const value = Object.hasOwn(given, name) ? textOf(given[name] ?? "") : "";
      if (value === "") throw new RpcError("invalidParams", `'${name}' must be given`);
      return value;
    });
    let at = 0;
    // For the log and for middleware: the route is known, and its parameters are given.
    const path = this.#path.replace(/\{[^{}]*\}/g, () => encodeURIComponent(values[at++]!.toWellFormed()));
    // As in a request: no dots that lead elsewhere, and no zero bytes.
    if (pathKind(path) === "malformed" || !values.every((value) => value.isWellFormed())) {
      throw new RpcError("invalidParams", "the parameters of the path are not valid");
    }
    const search = new URLSearchParams();
    const body: Record<string, unknown> = Object.create(null);
    for (const [name, value] of Object.entries(given)) {
      if (this.#query.has(name)) {
        for (const item of Array.isArray(value) ? value : [value]) if (item !== null) search.append(name, textOf(item));
      } else if (!this.#params.includes(name)) body[name] = value;
    }
    return {
      path,
      search: search.size === 0 ? "" : `?${search}`,
      ...(this.#body !== null && { body: this.#body === "flat" ? body : (body["body"] ?? null) }),
      values,
    };
  }
}

/** True if a body's properties can stand beside the parameters: it is a plain object, and no name is taken. */
function isFlat(root: JsonSchema, taken: ReadonlyMap<string, unknown>): boolean {
  const { properties, others } = objectShape(root, root);
  const isOpen = others !== undefined && others !== false;
  const isPlain = !["anyOf", "oneOf", "allOf", "$ref"].some((keyword) => keyword in root) && isObject(root);
  return isPlain && !isOpen && properties.size > 0 && [...properties.keys()].every((name) => !taken.has(name));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}
