import type { Host, HostRoute } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import { ValueError } from "../../kit/value-error.js";
import { objectShape } from "../../validation/schema-walk.js";
import type { McpCall } from "./call.js";
import { type CallTarget, innerRequest } from "./call-request.js";
import { block, protocolResponse } from "./content.js";
import type { DeclaredPrompt, DeclaredResource, DeclaredTool, PromptResult } from "./declared.js";
import { RpcError } from "./protocol.js";
import type {
  Completer,
  Published,
  PublishedPrompt,
  PublishedResource,
  PublishedTool,
  Question,
  StartedCall,
} from "./published.js";
import { routeTool } from "./route-tools.js";
import { noArguments, objectSchema } from "./schemas.js";

type Guarded = Pick<DeclaredTool, "guards" | "inject" | "timeout">;

export interface DeclaredParts {
  readonly tools: readonly DeclaredTool[];
  readonly resources: readonly DeclaredResource[];
  readonly prompts: readonly DeclaredPrompt[];
}

/** Everything that clients can list and call. */
export class Catalog {
  readonly tools = new Map<string, PublishedTool>();
  readonly resources: readonly PublishedResource[];
  readonly prompts = new Map<string, PublishedPrompt>();
  readonly #host: Host;
  readonly #path: string;

  constructor(host: Host, path: string, declared: DeclaredParts) {
    this.#host = host;
    this.#path = path;
    for (const tool of declared.tools) this.#add(this.tools, this.#tool(tool), "tools");
    for (const route of host.routes) {
      const mcp = route.options.mcp;
      if (mcp) this.#add(this.tools, routeTool(host, route, mcp), "tools");
    }
    this.resources = declared.resources.map((resource) => this.#resource(resource));
    const uris = declared.resources.map(({ uri }) => uri);
    const twice = uris.find((uri, index) => uris.indexOf(uri) !== index);
    if (twice !== undefined) throw new ValueError(`there are two resources of MCP with the URI ${twice}`);
    for (const prompt of declared.prompts) this.#add(this.prompts, this.#prompt(prompt), "prompts");
  }

  /** The resource of a URI with the values of its variables. Resources without variables go first. */
  find(uri: string): { readonly resource: PublishedResource; readonly values: readonly string[] } | null {
    const exact = this.resources.find(({ declared }) => declared.template === null && declared.uri === uri);
    if (exact !== undefined) return { resource: exact, values: [] };
    for (const resource of this.resources) {
      const values = resource.declared.template?.match(uri) ?? null;
      if (values !== null) return { resource, values };
    }
    return null;
  }

  #add<P extends Published>(to: Map<string, P>, one: P, kind: string): void {
    if (to.has(one.name)) throw new ValueError(`there are two ${kind} of MCP with the name '${one.name}'`);
    to.set(one.name, one);
  }

  #tool(declared: DeclaredTool): PublishedTool {
    const { name, title, description, input, output, annotations, handler } = declared;
    const owner = `the tool ${name}`;
    const start = this.#inner("tools", name, declared, { body: input, response: output }, (request, injected) =>
      handler(request, renamed(injected, "body")),
    );
    return {
      name,
      listed: {
        name,
        title,
        description,
        inputSchema: input === undefined ? noArguments : objectSchema(input, "input", `the input of ${owner}`),
        ...(output !== undefined && { outputSchema: objectSchema(output, "output", `the output of ${owner}`) }),
        annotations,
      },
      start: (outer, body, call) => start(outer, { body }, call),
    };
  }

  #resource(declared: DeclaredResource): PublishedResource {
    const { uri, name, title, description, mimeType, template, handler } = declared;
    const start = this.#inner("resources", name, declared, {}, handler);
    const watch = this.#inner("subscribe", name, onlyGuards(declared), {}, () => null);
    const withValues = (begin: typeof start): PublishedResource["start"] => {
      return (outer, values, call) => {
        const started = begin(outer, {}, call);
        started.own.paramNames = template?.names ?? null;
        started.own.paramValues = values;
        return started;
      };
    };
    return {
      declared,
      complete: this.#completer(declared),
      listed: { [template === null ? "uri" : "uriTemplate"]: uri, name, title, description, mimeType },
      start: withValues(start),
      watch: withValues(watch),
    };
  }

  #prompt(declared: DeclaredPrompt): PublishedPrompt {
    const { name, title, description, input, handler } = declared;
    const root = input === undefined ? noArguments : objectSchema(input, "input", `the input of the prompt ${name}`);
    const { properties, required } = objectShape(root, root);
    const list = [...properties].map(([argument, [schema]]) => {
      const about = schema?.["description"];
      return { name: argument, ...(about !== undefined && { description: about }), required: required.has(argument) };
    });
    const start = this.#inner("prompts", name, declared, { query: input }, async (request, injected) =>
      protocolResponse({
        description,
        messages: messagesOf((await handler(request, renamed(injected, "query"))) as PromptResult),
      }),
    );
    return {
      name,
      complete: this.#completer(declared),
      listed: { name, title, description, arguments: list },
      start(outer, given, call) {
        const wrong = Object.entries(given).find(([, value]) => typeof value !== "string");
        if (wrong) throw new RpcError("invalidParams", "the arguments of a prompt are texts");
        return start(outer, { search: `?${new URLSearchParams(given as Record<string, string>)}` }, call);
      },
    };
  }

  #completer(declared: DeclaredResource | DeclaredPrompt): Completer | null {
    const { name, complete } = declared;
    if (complete === undefined) return null;
    const start = this.#inner("complete", name, onlyGuards(declared), {}, (request) => {
      const { argument, value, known } = request.json<Question>();
      return Object.hasOwn(complete, argument) ? complete[argument]!(value, known) : [];
    });
    return (outer, body, call) => start(outer, { body }, call);
  }

  /** A pipeline inside of the request that brings the call, with the guards, the dependencies and the time limit of one definition. */
  #inner(
    kind: string,
    name: string,
    { guards, inject, timeout }: Guarded,
    schemas: NonNullable<HostRoute["options"]>,
    handler: HostRoute["handler"],
  ): (outer: Request, target: Partial<CallTarget>, call: McpCall) => StartedCall {
    const path = `${this.#path === "/" ? "" : this.#path}/${kind}/${name.replace(/[^A-Za-z0-9_.-]/g, "_")}`;
    const given = { ...schemas, guards, inject, timeout };
    const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const pipeline = this.#host.pipeline({ path, method: "POST", inner: true, options, handler });
    return (outer, target, call) => {
      const { request, own } = innerRequest(outer, { method: "POST", path, ...target }, call);
      return { own, run: () => pipeline.dispatch(request) };
    };
  }
}

function onlyGuards({ guards }: Guarded): Guarded {
  return { guards, inject: undefined, timeout: undefined };
}

/** The validated arguments are injected as `input`. */
function renamed(injected: Record<string, unknown>, place: "body" | "query"): Record<string, unknown> {
  if (!Object.hasOwn(injected, place)) return injected;
  const { [place]: input, ...rest } = injected;
  return { ...rest, input };
}

function messagesOf(result: PromptResult): readonly object[] {
  const messages = typeof result === "string" ? [{ role: "user" as const, content: result }] : result;
  if (!Array.isArray(messages))
    throw new ValueError("a prompt returns text, or a list of messages with role and content");
  return messages.map((message) => ({ role: message.role, content: block(message.content) }));
}
