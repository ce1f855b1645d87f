import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { App, type RunOptions } from "stoa";
import type { McpOptions } from "stoa/mcp";
import { onTestFinished } from "vitest";

/** An application with MCP at a free port, until the end of the test. */
export interface RunningApp {
  readonly app: App;
  /** `http://127.0.0.1:50123/mcp`. */
  readonly url: string;
  /** The official client, connected. */
  connect(headers?: Record<string, string>, capabilities?: object): Promise<Client>;
  /** One message as it is on the wire. */
  post(message: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The id of a new session. */
  session(version?: string): Promise<string>;
  close(): Promise<void>;
}

export async function serve(
  build: (app: App) => void,
  options: McpOptions = {},
  run: RunOptions = {},
): Promise<RunningApp> {
  const app = new App();
  app.enableMcp(options);
  build(app);
  const server = await app.run({ port: 0, exit: false, logs: false, ...run });
  onTestFinished(() => server.close());
  return { app, close: () => server.close(), ...clientOf(new URL(options.path ?? "/mcp", server.url).href) };
}

export function clientOf(url: string): Pick<RunningApp, "url" | "connect" | "post" | "session"> {
  const post: RunningApp["post"] = (message, headers = {}) =>
    fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
      body: typeof message === "string" ? message : JSON.stringify(message),
    });
  return {
    url,
    post,
    async connect(headers = {}, capabilities = {}) {
      const client = new Client({ name: "test", version: "1.0.0" }, { capabilities });
      const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
      await client.connect(transport as Parameters<Client["connect"]>[0]);
      onTestFinished(() => client.close());
      return client;
    },
    async session(version = "2025-11-25") {
      const response = await post(
        request("initialize", { protocolVersion: version, capabilities: { elicitation: {} } }),
      );
      return response.headers.get("mcp-session-id")!;
    },
  };
}

export function request(method: string, params?: object, id: unknown = 1): object {
  return { jsonrpc: "2.0", id, method, ...(params && { params }) };
}

export function call(name: string, given: object = {}, id: unknown = 1): object {
  return request("tools/call", { name, arguments: given }, id);
}

/** The text of the first block of a result. */
export function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]!.text;
}

/** The events of a stream, one after the other. */
export async function* eventsOf(response: Response): AsyncGenerator<{ id: string; data: string }> {
  let text = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string): string =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
      if (lines.some((line) => line.startsWith("data"))) yield { id: field("id"), data: field("data") };
    }
  }
}
