import { HttpError } from "../../errors/http-error.js";
import type { Host } from "../../feature/host.js";
import { discardBody } from "../../http/discard.js";
import type { Request } from "../../http/request.js";
import { jsonResponse, type Response } from "../../http/response.js";
import { isRecord } from "../../kit/own-property.js";
import type { Bus } from "./bus.js";
import { McpCall, type Questions } from "./call.js";
import type { Catalog } from "./catalog.js";
import type { McpConfig } from "./config.js";
import type { Exchange } from "./exchange.js";
import type { McpMonitor, Outcome } from "./monitor.js";
import {
  errorText,
  isVersion,
  levels,
  type McpLevel,
  type Params,
  RpcError,
  type RpcReply,
  type RpcRequest,
  resultText,
  textOf,
  versions,
} from "./protocol.js";
import type { StartedCall } from "./published.js";
import { errorMessage, failed, readBody, resourceResult, toolResult, type WholeBody } from "./results.js";
import { keyOf, type McpSession, type McpSessions } from "./sessions.js";

export interface MethodParts {
  readonly host: Host;
  readonly config: McpConfig;
  readonly catalog: Catalog;
  readonly sessions: McpSessions;
  readonly bus: Bus;
  readonly monitor: McpMonitor;
  /** A hash of all lists. */
  readonly lists: string;
}

/** Resources that one session can subscribe to. */
const maxSubscriptions = 100;
/** Characters of a URI: a session keeps those that it has subscribed to. */
const maxUri = 4096;
/** Values of one completion. */
const maxCompletions = 100;

/** The reason with which `request.signal` is aborted when a client cancels a call or no longer waits for it. */
class CancelledError extends Error {
  constructor() {
    super("the call was cancelled");
  }
}

interface Running {
  readonly exchange: Exchange;
  readonly own: Request;
}

/** A result as JSON. */
interface Result {
  readonly text: string;
  readonly outcome: Outcome;
}

interface Work {
  readonly request: Request;
  readonly exchange: Exchange;
  readonly message: RpcRequest;
  readonly params: Params;
  readonly session: McpSession | null;
}

/** The methods of the protocol. */
export class Methods implements Questions {
  readonly #parts: MethodParts;
  /** By session and id; without a session by an object that cannot be looked up. */
  readonly #running = new Map<unknown, Running>();
  readonly #questions = new Map<string, { readonly session: string; readonly resolve: (reply: RpcReply) => void }>();
  readonly #methods: ReadonlyMap<string, (work: Work) => Result | Promise<Result>>;

  constructor(parts: MethodParts) {
    this.#parts = parts;
    const { tools, prompts, resources } = parts.catalog;
    const listed = (all: Iterable<{ readonly listed: object }>): object[] => [...all].map((one) => one.listed);
    const fixed = resources.filter(({ declared }) => declared.template === null);
    const templates = resources.filter(({ declared }) => declared.template !== null);
    const list = (key: string, items: readonly object[]) => (work: Work) => this.#page(key, items, work.params);
    this.#methods = new Map<string, (work: Work) => Result | Promise<Result>>([
      ["ping", () => done({})],
      ["tools/list", list("tools", listed(tools.values()))],
      ["tools/call", (work) => this.#callTool(work)],
      ["resources/list", list("resources", listed(fixed))],
      ["resources/templates/list", list("resourceTemplates", listed(templates))],
      ["resources/read", (work) => this.#readResource(work)],
      ["resources/subscribe", (work) => this.#subscribe(work, true)],
      ["resources/unsubscribe", (work) => this.#subscribe(work, false)],
      ["prompts/list", list("prompts", listed(prompts.values()))],
      ["prompts/get", (work) => this.#getPrompt(work)],
      ["completion/complete", (work) => this.#complete(work)],
      ["logging/setLevel", (work) => this.#setLevel(work)],
    ]);
  }

  async initialize({ id, params }: RpcRequest, user: string): Promise<Response> {
    const { config, catalog, sessions, host, lists } = this.#parts;
    const { protocolVersion, capabilities } = params;
    const version = isVersion(protocolVersion) ? protocolVersion : versions[0];
    const can = ["sampling", "elicitation", "roots"].filter((name) => isRecord(capabilities) && name in capabilities);
    const session = await sessions.begin({ version, can, user, lists, level: "info", uris: [] });
    const completes = [...catalog.resources, ...catalog.prompts.values()].some(({ complete }) => complete !== null);
    const result = {
      protocolVersion: version,
      capabilities: {
        logging: {},
        ...(completes && { completions: {} }),
        ...(catalog.tools.size > 0 && { tools: { listChanged: true } }),
        ...(catalog.resources.length > 0 && { resources: { subscribe: true, listChanged: true } }),
        ...(catalog.prompts.size > 0 && { prompts: { listChanged: true } }),
      },
      serverInfo: { name: config.name ?? host.settings.name ?? "stoa", version: config.version },
      ...(config.instructions !== undefined && { instructions: config.instructions }),
    };
    return jsonResponse(resultText(id, JSON.stringify(result)), 200).header("Mcp-Session-Id", session);
  }

  /** Runs a request, and gives its response to the exchange. Never rejects. */
  async run(request: Request, exchange: Exchange, message: RpcRequest): Promise<void> {
    const { method, params, id } = message;
    const work = { request, exchange, message, params, session: exchange.session };
    const label = this.#methods.has(method) ? method : "unknown";
    let failure: RpcError | null = null;
    const { text, outcome } = await this.#parts.monitor.measure(label, this.#nameOf(method, params), async () => {
      try {
        const run = this.#methods.get(method);
        if (run === undefined) throw new RpcError("unknownMethod", "there is no such method");
        return await run(work);
      } catch (error) {
        if (error instanceof CancelledError) return { text: "", outcome: "cancelled" as const };
        failure = this.#rpcError(error);
        return { text: errorText(id, failure), outcome: "error" as const };
      }
    });
    if (outcome === "cancelled") exchange.settle(null);
    else exchange.settle(outcome === "error" ? text : resultText(id, text), failure);
  }

  /** False if the call does not run here. */
  cancel(call: string): boolean {
    const running = this.#running.get(call);
    running?.own.abort(new CancelledError());
    return running !== undefined;
  }

  /** Ends the calls of an exchange. */
  abandon(exchange: Exchange): void {
    for (const running of [...this.#running.values()]) {
      if (running.exchange === exchange) running.own.abort(new CancelledError());
    }
  }

  ask(id: string, session: string): Promise<RpcReply> {
    return new Promise((resolve) => this.#questions.set(id, { session: keyOf(session), resolve }));
  }

  drop(id: string): void {
    this.#questions.delete(id);
  }

  /** The response of a client to a request of the server. False if no request of this process waits for it. */
  reply(session: string, reply: RpcReply): boolean {
    const question = typeof reply.id === "string" ? this.#questions.get(reply.id) : undefined;
    if (question?.session !== session) return false;
    question.resolve(reply);
    return true;
  }

  #page(key: string, items: readonly object[], { cursor }: Params): Result {
    const { pageSize } = this.#parts.config;
    const from = cursor === undefined ? 0 : readCursor(cursor);
    if (from === null || (from > 0 && from >= items.length))
      throw new RpcError("invalidParams", "the cursor is not valid");
    const next = from + pageSize;
    const nextCursor = next < items.length ? Buffer.from(`from ${next}`).toString("base64url") : undefined;
    return done({ [key]: items.slice(from, next), nextCursor });
  }

  async #callTool({ params, ...work }: Work): Promise<Result> {
    const name = textOf(params, "name");
    const tool = this.#parts.catalog.tools.get(name);
    if (tool === undefined)
      throw new RpcError("invalidParams", `there is no tool ${JSON.stringify(name.slice(0, 128))}`);
    const given = argumentsOf(params);
    const call = new McpCall(name, work.exchange, params, this);
    let started: StartedCall;
    try {
      started = tool.start(work.request, given, call);
    } catch (error) {
      if (error instanceof RpcError) return { text: failed(error.message), outcome: "failed" };
      throw error;
    }
    const { response, body } = await this.#settled(started, call, work);
    return { text: toolResult(response, body, name), outcome: response.status < 300 ? "done" : "failed" };
  }

  async #readResource({ params, ...work }: Work): Promise<Result> {
    const uri = textOf(params, "uri");
    const { resource, values } = this.#resourceOf(uri);
    const call = new McpCall(uri, work.exchange, params, this);
    const { response, body } = await this.#settled(resource.start(work.request, values, call), call, work);
    if (response.status === 404) throw new RpcError("unknownResource", errorMessage(response, body));
    throwFailure(response, body);
    return { text: resourceResult(body, uri, resource.declared.mimeType), outcome: "done" };
  }

  async #getPrompt({ params, ...work }: Work): Promise<Result> {
    const name = textOf(params, "name");
    const prompt = this.#parts.catalog.prompts.get(name);
    if (prompt === undefined) throw new RpcError("invalidParams", "there is no such prompt");
    const call = new McpCall(name, work.exchange, params, this);
    const started = prompt.start(work.request, argumentsOf(params), call);
    const { response, body } = await this.#settled(started, call, work);
    throwFailure(response, body);
    return { text: body.text, outcome: "done" };
  }

  async #complete({ params, ...work }: Work): Promise<Result> {
    const { ref, argument, context } = params;
    if (!isRecord(ref) || !isRecord(argument))
      throw new RpcError("invalidParams", "'ref' and 'argument' must be given");
    const { catalog } = this.#parts;
    const of =
      ref["type"] === "ref/prompt"
        ? catalog.prompts.get(textOf(ref, "name"))
        : catalog.resources.find(({ declared }) => declared.uri === textOf(ref, "uri"));
    if (of === undefined) throw new RpcError("invalidParams", "there is no such prompt or template");
    const question = { argument: textOf(argument, "name"), value: textOf(argument, "value"), known: knownOf(context) };
    let values: unknown[] = [];
    if (of.complete !== null) {
      const call = new McpCall(question.argument, work.exchange, params, this);
      const { response, body } = await this.#settled(of.complete(work.request, question, call), call, work);
      throwFailure(response, body);
      values = JSON.parse(body.text) as unknown[];
    }
    const hasMore = values.length > maxCompletions;
    return done({ completion: { values: values.slice(0, maxCompletions), total: values.length, hasMore } });
  }

  async #subscribe({ params, ...work }: Work, on: boolean): Promise<Result> {
    const { session } = work;
    const uri = textOf(params, "uri");
    if (session === null) throw new RpcError("invalidRequest", "a subscription needs a session");
    if (on) {
      const { resource, values } = this.#resourceOf(uri);
      const call = new McpCall(uri, work.exchange, params, this);
      const { response, body } = await this.#settled(resource.watch(work.request, values, call), call, work);
      throwFailure(response, body);
    }
    const { sessions, bus } = this.#parts;
    await sessions.change(session, ({ uris }) => {
      const others = uris.filter((other) => other !== uri);
      if (on && others.length >= maxSubscriptions) {
        throw new RpcError("invalidParams", `a session can subscribe to ${maxSubscriptions} resources`);
      }
      return { uris: on ? [...others, uri] : others };
    });
    bus.tell({ kind: "subscribed", session: keyOf(session.id), uri, on });
    return done({});
  }

  async #setLevel({ params, session }: Work): Promise<Result> {
    const level = textOf(params, "level") as McpLevel;
    if (!levels.includes(level)) throw new RpcError("invalidParams", `a level is one of ${levels.join(", ")}`);
    if (session !== null) await this.#parts.sessions.change(session, () => ({ level }));
    return done({});
  }

  #resourceOf(uri: string): NonNullable<ReturnType<Catalog["find"]>> {
    const found = uri.length > maxUri ? null : this.#parts.catalog.find(uri);
    if (found === null) throw new RpcError("unknownResource", "there is no such resource");
    return found;
  }

  /** Runs a call to its end. Throws `CancelledError` as soon as it is cancelled; its handler may still run, but is not waited for. */
  async #settled(
    { own, run }: StartedCall,
    call: McpCall,
    { exchange, message, session }: Omit<Work, "params">,
  ): Promise<{ readonly response: Response; readonly body: WholeBody }> {
    const key: unknown = session === null ? own : `${keyOf(session.id)} ${JSON.stringify(message.id)}`;
    if (this.#running.has(key)) throw new RpcError("invalidRequest", "a request with this id is running");
    this.#running.set(key, { exchange, own });
    try {
      return await new Promise((resolve, reject) => {
        own.onAbort((reason) => {
          call.end(reason);
          if (reason instanceof CancelledError) reject(reason);
        });
        void this.#responded(own, run).then(resolve, reject);
      });
    } finally {
      call.end(new Error("the call is over"));
      this.#running.delete(key);
    }
  }

  async #responded(own: Request, run: StartedCall["run"]): Promise<{ response: Response; body: WholeBody }> {
    try {
      const response = await run();
      if (own.aborted && !own.error) {
        discardBody(response);
        throw own.signal.reason;
      }
      const body = await readBody(response, own.signal);
      const challenge = response.headers.get("www-authenticate");
      if (challenge !== undefined && challenge !== null && (response.status === 401 || response.status === 403)) {
        const headers = { "WWW-Authenticate": challenge };
        throw new RpcError("refused", errorMessage(response, body), response.status, headers);
      }
      return { response, body };
    } finally {
      own.finish();
    }
  }

  /** The name of a known tool or prompt, for metrics. */
  #nameOf(method: string, { name }: Params): string {
    const { tools, prompts } = this.#parts.catalog;
    const known = method === "tools/call" ? tools : method === "prompts/get" ? prompts : null;
    return typeof name === "string" && known?.has(name) ? name : "";
  }

  #rpcError(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    if (error instanceof HttpError) return new RpcError("internal", error.message);
    this.#parts.host.logger.error("a request of an MCP client failed", { error });
    return new RpcError("internal", "The server failed to handle the request.");
  }
}

function done(result: object): Result {
  return { text: JSON.stringify(result), outcome: "done" };
}

function throwFailure(response: Response, body: WholeBody): void {
  const { status } = response;
  if (status >= 300) throw new RpcError(status < 500 ? "invalidParams" : "internal", errorMessage(response, body));
}

function argumentsOf(params: Params): Params {
  const given = params["arguments"] ?? {};
  if (!isRecord(given)) throw new RpcError("invalidParams", "'arguments' must be an object");
  return given;
}

function knownOf(context: unknown): Readonly<Record<string, string>> {
  const known = isRecord(context) && isRecord(context["arguments"]) ? context["arguments"] : {};
  return Object.fromEntries(
    Object.entries(known).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function readCursor(cursor: unknown): number | null {
  const text = typeof cursor === "string" && cursor.length < 100 ? Buffer.from(cursor, "base64url").toString() : "";
  const found = /^from ([1-9]\d{0,8})$/.exec(text);
  return found === null ? null : Number(found[1]);
}
