import { createInterface } from "node:readline";
import { hostOf } from "../../app/app.js";
import { Request } from "../../http/request.js";
import type { BodyStream, Response } from "../../http/response.js";
import { WebSource } from "../../http/web.js";
import { isRecord } from "../../kit/own-property.js";
import { ValueError } from "../../kit/value-error.js";
import { appOption, loadApp, noting } from "../application.js";
import { defineCommand } from "../command.js";

export const mcp = defineCommand({
  summary: "Serves the tools, resources and prompts of the application over stdio, for a client that starts it.",
  options: {
    ...appOption,
    header: {
      kind: "list",
      value: "FIELD",
      help: 'a header field of each message, such as "Authorization: Bearer ..."',
    },
  },
  details: `
The application is started as by \`run\`, but it does not listen. Each line of standard input is a message; each line of standard
output is one too, so logs and console.log go to standard error. The end of the input stops the application.

Examples:
  stoa mcp --app src/app.ts
  stoa mcp --header "X-API-Key: $KEY"`,
  async run(call) {
    const { log, info, debug, error } = console;
    Object.assign(console, { log: error, info: error, debug: error });
    const app = await loadApp(call);
    app.logger = noting(call.terminal.note);
    await app.start();
    try {
      const { path } = app.mcp;
      if (path === null) throw new ValueError("the application does not call enableMcp()");
      const bridge = new Bridge(path, call.options.header ?? [], hostOf(app).dispatch, call.terminal.print);
      await bridge.run(process.stdin, call.signal);
    } finally {
      await app.stop();
      Object.assign(console, { log, info, debug });
    }
  },
});

type Dispatch = (request: Request) => Response | Promise<Response>;

/** Passes the lines of a client to the endpoint, each as a request, and the messages in its responses back. */
class Bridge {
  readonly #url: string;
  readonly #fields: Headers;
  readonly #dispatch: Dispatch;
  readonly #print: (line: string) => void;
  readonly #open = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  constructor(path: string, fields: readonly string[], dispatch: Dispatch, print: (line: string) => void) {
    this.#url = `http://localhost${path}`;
    this.#dispatch = dispatch;
    this.#print = print;
    this.#fields = new Headers(fields.map(readField));
    this.#fields.set("accept", "application/json, text/event-stream");
    this.#fields.set("content-type", "application/json");
  }

  async run(input: NodeJS.ReadableStream, signal: AbortSignal): Promise<void> {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    signal.addEventListener("abort", () => lines.close());
    for await (const line of lines) {
      if (line.trim() === "") continue;
      const message = parsed(line);
      const sending = this.#send("POST", line, isRecord(message) ? message["id"] : undefined);
      this.#open.add(sending);
      void sending.then(() => this.#open.delete(sending));
      const method = isRecord(message) ? message["method"] : undefined;
      // The messages after it belong to the session that it begins.
      if (method === "initialize") await sending;
      if (method === "notifications/initialized") void this.#send("GET");
    }
    this.#ending.abort(new Error("the client has left"));
    await Promise.all(this.#open);
  }

  async #send(method: "GET" | "POST", body?: string, id?: unknown, last?: string): Promise<void> {
    const headers = new Headers(this.#fields);
    if (last !== undefined) headers.set("last-event-id", last);
    const request = new Request(
      new WebSource(new globalThis.Request(this.#url, { method, headers, body: body ?? null })),
    );
    if (method === "GET") this.#ending.signal.addEventListener("abort", (event) => request.abort(event));
    const response = await this.#dispatch(request);
    const session = response.headers.get("mcp-session-id");
    if (session) this.#fields.set("mcp-session-id", session);
    const seen = await this.#pass(response, id);
    request.finish();
    // A stream that ends before the response is continued, as a client over HTTP does.
    if (id !== undefined && seen.last !== undefined && !seen.ids.has(id))
      await this.#send("GET", undefined, id, seen.last);
  }

  async #pass({ body, status, type }: Response, id: unknown): Promise<{ last: string | undefined; ids: Set<unknown> }> {
    const ids = new Set<unknown>();
    let last: string | undefined;
    if (typeof body === "string") {
      const isMessage = type === "application/json" && isRecord(parsed(body)) && body.includes('"jsonrpc"');
      const error = { code: -32_603, message: `The server refused the message with status ${status}.` };
      this.#print(isMessage ? body : JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error }));
    } else if (body !== null && !(body instanceof Uint8Array)) {
      for await (const event of body as BodyStream) {
        for (const line of String(event).split("\n")) {
          if (line.startsWith("id: ")) last = line.slice(4);
          if (!line.startsWith("data: {")) continue;
          const text = line.slice(6);
          const message = parsed(text);
          if (isRecord(message) && !("method" in message)) ids.add(message["id"]);
          this.#print(text);
        }
      }
    }
    return { last, ids };
  }
}

function readField(field: string): [name: string, value: string] {
  const end = field.indexOf(":");
  if (end < 1) throw new ValueError(`--header takes "Name: value", not ${JSON.stringify(field)}`);
  return [field.slice(0, end).trim(), field.slice(end + 1).trim()];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
