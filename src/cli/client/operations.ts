import { headingOf } from "../../batteries/openapi/operation-id.js";
import {
  block,
  commentOf,
  key,
  type Member,
  type Node,
  nodeOf,
  objectType,
  type TypeNames,
  typeOf,
  union,
} from "./schema-types.js";

/** Methods that clients can send, in the order of the file. */
const methods = ["get", "head", "options", "post", "put", "patch", "delete"] as const;

/** Writes the types of operations, from a document. */
export class OperationTypes {
  /** `GET /prices` for each event stream whose data is JSON. */
  readonly jsonStreams: string[] = [];

  constructor(
    private readonly document: Node,
    private readonly names: TypeNames,
  ) {}

  /** The interface of all operations, by path and method. Sorted, so that the order of routes makes no difference. */
  operations(): string {
    const paths = Object.entries(nodeOf(this.document["paths"])).sort(byName);
    const members = paths.flatMap(([path, item]) => {
      const found = methods.flatMap((method) => this.#operation(path, method, nodeOf(item)[method]));
      return found.length === 0 ? [] : [{ name: key(path), type: block(found, "  ") }];
    });
    return block(members, "");
  }

  /** The interface of WebSockets by path. */
  sockets(): string {
    const paths = Object.entries(nodeOf(this.document["x-websockets"])).sort(byName);
    const members = paths.map(([path, socket]) => ({
      name: key(path),
      type: objectType(this.#parameters(nodeOf(socket), ["path", "query"], "  "), "  "),
      comment: commentOf({ description: nodeOf(socket)["summary"] }),
    }));
    return block(members, "");
  }

  #operation(path: string, method: string, given: unknown): Member[] {
    if (given === undefined) return [];
    const operation = nodeOf(given);
    const pad = "    ";
    const members = [
      ...this.#parameters(operation, ["path", "query", "header"], pad),
      ...this.#body(operation, pad),
      { name: "result", type: this.#result(path, method, nodeOf(operation["responses"]), pad) },
      { name: "errors", type: this.#errors(nodeOf(operation["responses"]), pad) },
    ];
    return [{ name: method, type: block(members, pad), comment: describe(operation) }];
  }

  /** `params`, `query` and `headers`. One that has no required member may be left out. */
  #parameters(operation: Node, places: readonly (keyof typeof memberOfPlace)[], pad: string): Member[] {
    const listed = Array.isArray(operation["parameters"]) ? operation["parameters"] : [];
    const parameters = listed.map((parameter) => this.#resolved(parameter));
    const inner = `${pad}    `;
    return places.flatMap((place) => {
      const found = parameters.filter((parameter) => parameter["in"] === place);
      if (found.length === 0) return [];
      const name = memberOfPlace[place];
      const [only] = found;
      if (found.length === 1 && isSpread(only!)) {
        return [{ name, type: typeOf(only!["schema"], this.names, inner), optional: true }];
      }
      const members = found.map((parameter) => {
        const type = typeOf(parameter["schema"], this.names, inner);
        const optional = parameter["required"] !== true;
        const comment = commentOf(parameter);
        // A filter that is not set is often undefined.
        return {
          name: key(String(parameter["name"])),
          type: optional ? `${type} | undefined` : type,
          optional,
          comment,
        };
      });
      const optional = members.every((member) => member.optional);
      return [{ name, type: objectType(members, `${pad}  `), optional }];
    });
  }

  #body(operation: Node, pad: string): Member[] {
    if (operation["requestBody"] === undefined) return [];
    const body = this.#resolved(operation["requestBody"]);
    const optional = body["required"] !== true;
    const content = Object.entries(nodeOf(body["content"]));
    const form = content.find(([type]) => /^(?:multipart\/form-data|application\/x-www-form-urlencoded)$/.test(type));
    if (form) return [{ name: "form", type: typeOf(nodeOf(form[1])["schema"], this.names, `${pad}  `), optional }];
    const types = content.map(([type, media]) =>
      isJson(type) ? typeOf(nodeOf(media)["schema"], this.names, `${pad}  `) : "Blob",
    );
    return [{ name: "body", type: union(types), optional }];
  }

  #result(path: string, method: string, responses: Node, pad: string): string {
    const types = Object.entries(responses).flatMap(([status, response]) => {
      if (!/^2\d\d$/.test(status)) return [];
      const content = Object.entries(nodeOf(this.#resolved(response)["content"]));
      if (method === "head" || status === "204" || status === "205") return ["undefined"];
      if (content.length === 0) return ["unknown"];
      return content.map(([type, media]) =>
        this.#contentType(type, nodeOf(media), `${method.toUpperCase()} ${path}`, pad),
      );
    });
    return types.length === 0 ? "unknown" : union(types);
  }

  #contentType(type: string, media: Node, operation: string, pad: string): string {
    if (/^text\/event-stream\b/.test(type)) {
      // Text is sent as it is, anything else as JSON.
      const data = media["schema"] === undefined ? "string" : typeOf(media["schema"], this.names, `${pad}  `);
      if (!this.#isText(media["schema"] ?? { type: "string" })) this.jsonStreams.push(operation);
      return `AsyncIterable<ServerEvent<${data}>>`;
    }
    if (isJson(type)) return typeOf(media["schema"], this.names, `${pad}  `);
    return type.startsWith("text/") ? "string" : "Blob";
  }

  /** True for a schema of nothing but strings: an enum of them, for example. */
  #isText(schema: unknown): boolean {
    const node = this.#resolved(schema);
    const choices = node["anyOf"] ?? node["oneOf"];
    if (Array.isArray(choices)) return choices.every((choice) => this.#isText(choice));
    const values = "const" in node ? [node["const"]] : node["enum"];
    return Array.isArray(values) ? values.every((value) => typeof value === "string") : node["type"] === "string";
  }

  #errors(responses: Node, pad: string): string {
    const members = Object.entries(responses).flatMap(([status, response]) => {
      if (!/^[45]\d\d$/.test(status)) return [];
      const content = Object.entries(nodeOf(this.#resolved(response)["content"]));
      const types = content.map(([type, media]) =>
        isJson(type) ? typeOf(nodeOf(media)["schema"], this.names, `${pad}    `) : "string",
      );
      return [{ name: status, type: types.length === 0 ? "unknown" : union(types) }];
    });
    return members.length === 0 ? "{}" : objectType(members, `${pad}  `);
  }

  /** What a local reference leads to. */
  #resolved(value: unknown): Node {
    const reference = nodeOf(value)["$ref"];
    if (typeof reference !== "string" || !reference.startsWith("#/")) return nodeOf(value);
    const parts = reference.slice(2).split("/");
    const found = parts.reduce<unknown>(
      (node, part) => nodeOf(node)[part.replaceAll("~1", "/").replaceAll("~0", "~")],
      this.document,
    );
    return nodeOf(found);
  }
}

const memberOfPlace = { path: "params", query: "query", header: "headers" } as const;

/** A parameter that stands for any names: its members are spread over the query. */
function isSpread(parameter: Node): boolean {
  return (
    parameter["in"] === "query" && parameter["style"] === "form" && nodeOf(parameter["schema"])["type"] === "object"
  );
}

export function isJson(type: string): boolean {
  return /[/+]json$/.test(type.split(";", 1)[0]!.trim());
}

/** A summary that was generated from the name tells nothing that the path does not. */
function describe({ summary, description, operationId, deprecated }: Node): string {
  const own = typeof summary === "string" && summary !== headingOf(String(operationId)) ? [summary] : [];
  const lines = [...own, ...(typeof description === "string" ? [description] : [])];
  return commentOf({ description: lines.join("\n\n"), deprecated });
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}
