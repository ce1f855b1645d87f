import { App, Depends } from "stoa";
import { McpConfig } from "stoa/mcp";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { hostOf } from "../../../src/app/app.js";
import { traced } from "../../batteries/telemetry/traced.js";
import { serve, textOf } from "./support.js";

describe("options of MCP", () => {
  it("The endpoint has a path, a name, a version and instructions", async () => {
    const { connect, app } = await serve((app) => void app.tool("hi", {}, () => "hi"), {
      path: "/ai",
      name: "books",
      version: "1.2.3",
      instructions: "Ask for a title first.",
    });
    const client = await connect();
    expect(client.getServerVersion()).toEqual({ name: "books", version: "1.2.3" });
    expect(client.getInstructions()).toBe("Ask for a title first.");
    expect(app.mcp.path).toBe("/ai");
    expect(hostOf(app).links()).toEqual([["MCP", "/ai"]]);
    expect(new App().mcp.path).toBeNull();
  });

  it("The options are an object in either spelling, a config, or the path alone", () => {
    expect(new McpConfig("/a").path).toBe("/a");
    expect(new McpConfig({ page_size: 5 }).pageSize).toBe(5);
    const app = new App();
    app.enable_mcp(new McpConfig({ path: "/b" }));
    expect(app.mcp.path).toBe("/b");
    app.enableMcp("/c");
    expect(app.mcp.path).toBe("/c");
  });

  it("Long lists come in pages", async () => {
    const { connect } = await serve(
      (app) => {
        for (const name of ["a", "b", "c"]) app.tool(name, {}, () => name);
      },
      { pageSize: 2 },
    );
    const client = await connect();
    const first = await client.listTools();
    expect(first.tools.map(({ name }) => name)).toEqual(["a", "b"]);
    const second = await client.listTools({ cursor: first.nextCursor! });
    expect(second.tools.map(({ name }) => name)).toEqual(["c"]);
    expect(second.nextCursor).toBeUndefined();
    await expect(client.listTools({ cursor: "bm9uZQ" })).rejects.toThrow("the cursor is not valid");
  });

  it("The endpoint has guards and middleware besides those of the application", async () => {
    const { post } = await serve((app) => void app.tool("hi", {}, ({ context }) => String(context.user)), {
      middleware: [
        (request, next) => {
          request.context.user = request.headers.get("x-user") ?? "nobody";
          return next();
        },
      ],
      guards: [({ context }) => context.user !== "nobody"],
    });
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hi" } };
    expect((await post(message)).status).toBe(403);
    const { result } = (await (await post(message, { "x-user": "ada" })).json()) as { result: unknown };
    expect(textOf(result)).toBe("ada");
  });

  it("Resources have names, types, guards, dependencies, time limits and completions", async () => {
    const { connect } = await serve((app) => {
      app.registerSingleton("notes", new Map([["monday", "rain"]]));
      app.resource(
        "notes://{day}",
        {
          name: "note",
          title: "Note",
          description: "The note of a day",
          mimeType: "text/markdown",
          inject: { notes: Depends<Map<string, string>>("notes") },
          guards: [({ headers }) => headers.get("x-user") !== "eve"],
          complete: { day: (value, known) => [`${value}day`, `${known["month"]}`] },
        },
        ({ params, mcp }, { notes }) => notes.get(params.day) ?? mcp.name,
      );
      app.resource("slow://it", { timeout: 0.01 }, () => new Promise(() => {}));
      app.resource("files:///{+path}", {}, ({ params }) => ({ path: params.path }));
      app.logger = silent;
    });
    const client = await connect();
    expect((await client.listResourceTemplates()).resourceTemplates[0]).toEqual({
      uriTemplate: "notes://{day}",
      name: "note",
      title: "Note",
      description: "The note of a day",
      mimeType: "text/markdown",
    });
    expect((await client.listResourceTemplates()).resourceTemplates[1]).toMatchObject({ name: "files" });
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    expect(await read("notes://monday")).toEqual({ uri: "notes://monday", mimeType: "text/markdown", text: "rain" });
    expect(await read("notes://friday")).toMatchObject({ text: "notes://friday" });
    expect(await read("files:///a/b.txt")).toMatchObject({ mimeType: "application/json", text: '{"path":"a/b.txt"}' });
    const astray = ["files:///../etc", "files:///a/%2e%2e/etc", "notes://%2e%2e%2fetc", "notes://%00", "notes://%zz"];
    const more = ["notes://a/b", "notes://\0", "files:///a\0", `notes://${"a".repeat(4089)}`];
    for (const uri of [...more, ...astray]) await expect(read(uri)).rejects.toThrow("there is no such resource");
    await expect(read("slow://it")).rejects.toThrow("The request took too long to handle.");
    const question = {
      ref: { type: "ref/resource" as const, uri: "notes://{day}" },
      argument: { name: "day", value: "fri" },
      context: { arguments: { month: "May" } },
    };
    expect((await client.complete(question)).completion.values).toEqual(["friday", "May"]);
    const eve = await connect({ "x-user": "eve" });
    await expect(eve.readResource({ uri: "notes://monday" })).rejects.toThrow("You are not allowed");
    await expect(eve.complete(question)).rejects.toThrow("You are not allowed");
    await expect(eve.subscribeResource({ uri: "notes://monday" })).rejects.toThrow("You are not allowed");
    await client.subscribeResource({ uri: "notes://monday" });
  });

  it("A completion has at most 100 values, and says that there are more", async () => {
    const { connect } = await serve((app) => {
      app.resource("n://{n}", { complete: { n: () => Array.from({ length: 150 }, String) } }, () => "");
    });
    const client = await connect();
    const question = { ref: { type: "ref/resource" as const, uri: "n://{n}" }, argument: { name: "n", value: "" } };
    const { values, total, hasMore } = (await client.complete(question)).completion;
    expect([values.length, total, hasMore]).toEqual([100, 150, true]);
  });

  it("Prompts have titles, typed arguments, guards, dependencies, time limits and completions", async () => {
    const { connect } = await serve((app) => {
      app.registerSingleton("tone", "kind");
      app.prompt(
        "review",
        {
          title: "Review",
          description: "Reviews code",
          input: z.object({ code: z.string().describe("The code"), depth: z.number().optional() }),
          inject: { tone: Depends<string>("tone") },
          guards: [({ headers }) => headers.get("x-user") !== "eve"],
          complete: { depth: () => ["1", "2"] },
        },
        (_, { input, tone }) => [{ role: "assistant", content: `${tone} ${input.code} ${typeof input.depth}` }],
      );
      app.prompt("slow", { timeout: 0.01 }, () => new Promise<string>(() => {}));
      app.logger = silent;
    });
    const client = await connect();
    expect((await client.listPrompts()).prompts[0]).toEqual({
      name: "review",
      title: "Review",
      description: "Reviews code",
      arguments: [
        { name: "code", description: "The code", required: true },
        { name: "depth", required: false },
      ],
    });
    const { messages } = await client.getPrompt({ name: "review", arguments: { code: "x", depth: "3" } });
    expect(messages).toEqual([{ role: "assistant", content: { type: "text", text: "kind x number" } }]);
    await expect(client.getPrompt({ name: "slow" })).rejects.toThrow("The request took too long to handle.");
    await expect((await connect({ "x-user": "eve" })).getPrompt({ name: "review" })).rejects.toThrow("not allowed");
  });

  it("Definitions that cannot work are refused when they are made", () => {
    const app = new App();
    const loose = app as unknown as Record<"tool" | "resource" | "prompt", (...given: unknown[]) => unknown>;
    const hi = () => "hi";
    expect(() => loose.tool("a b", {}, hi)).toThrow("the name of a tool has 1 to 128 letters");
    expect(() => loose.tool("a", {})).toThrow("the tool a takes options and a handler");
    expect(() => loose.tool("a", { inputs: {} }, hi)).toThrow("inputs");
    expect(() => loose.resource("nowhere", {}, hi)).toThrow("resource() takes a URI");
    expect(() => loose.resource("a://{x*}", {}, hi)).toThrow("is not supported");
    expect(() => loose.resource("a://{x}{y}", {}, hi)).toThrow("without text between them");
    expect(() => loose.resource("a://{x}/{x}", {}, hi)).toThrow("a variable twice");
    expect(() => loose.resource("a://x}", {}, hi)).toThrow("a brace without its partner");
    expect(() => loose.prompt("a", { input: null, wrong: 1 }, hi)).toThrow("wrong");
    expect(() => loose.prompt(5, {}, hi)).toThrow("the name of a prompt");
    expect(() => app.get("/x", { mcp: "yes" as never }, hi)).toThrow("true, or an object with name and description");
    for (const place of ["input", "output"]) {
      expect(() => app.tool("a", { [place]: { id: "string" } } as never, hi as never)).toThrow(
        `option '${place}' in the tool a must be a schema (zod, valibot, arktype ...), not an object`,
      );
    }
    expect(() => app.prompt("a", { input: "text" as never }, hi)).toThrow(
      "option 'input' in the prompt a must be a schema",
    );
  });

  it("Definitions that contradict each other are refused at the start", async () => {
    const start = (build: (app: App) => void, enable = true) => {
      const app = new App();
      if (enable) app.enableMcp();
      build(app);
      return app.start();
    };
    const hi = () => "hi";
    const twice = (app: App) => void app.tool("a", {}, hi).tool("a", {}, hi);
    await expect(start(twice)).rejects.toThrow("two tools of MCP with the name 'a'");
    await expect(start((app) => void app.resource("a:b", {}, hi).resource("a:b", {}, hi))).rejects.toThrow(
      "two resources",
    );
    await expect(start((app) => void app.tool("a", { input: z.string() }, hi))).rejects.toThrow(
      "the input of the tool a must be a schema of an object",
    );
    await expect(start((app) => void app.tool("a", {}, hi), false)).rejects.toThrow("enableMcp() was not called");
    await expect(start((app) => void app.get("/a", { mcp: true }, hi), false)).rejects.toThrow("needs app.enableMcp()");
    const form = (app: App) => void app.post("/a", { form: z.object({}), mcp: true }, hi);
    await expect(start(form)).rejects.toThrow("cannot be a tool of MCP");
    const both = (app: App) => void app.get("/{id}", { query: z.object({ id: z.string() }), mcp: true }, hi);
    await expect(start(both)).rejects.toThrow("'id' is in its path and its query");
    const wrong = (app: App) => void app.get("/a", { mcp: { names: "x" } as never }, hi);
    await expect(start(wrong)).rejects.toThrow("names");
    expect(() => new App().mcp.updated("a:b")).toThrow("has started");
  });

  it("A call is a span below that of the request, and a route that is a tool has its own below it", async () => {
    const { send, flush, collector } = await traced((app) => {
      app.enableMcp();
      app.tool("inner", {}, () => app.tracer.span("work", () => "done"));
      app.get("/route", { mcp: true }, () => "done");
    });
    for (const name of ["inner", "getRoute"]) {
      await send("/mcp", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } }),
      });
    }
    await flush();
    const named = (name: string) => collector.spans.find((span) => span.name === name)!;
    const call = named("tools/call inner");
    expect(call.attributes).toMatchObject({ "mcp.method.name": "tools/call", "gen_ai.tool.name": "inner" });
    expect(named("work").parentSpanId).toBe(call.spanId);
    const requests = collector.spans.filter(({ name }) => name === "POST /mcp");
    expect(call.parentSpanId).toBe(requests[0]!.spanId);
    expect(named("GET /route").parentSpanId).toBe(requests[1]!.spanId);
  });

  it("Calls are counted by name and outcome and timed", async () => {
    const { connect, url } = await serve((app) => {
      app.enableMetrics();
      app.logger = silent;
      app.tool("good", {}, () => "good");
      app.tool("bad", {}, () => {
        throw new Error("bad");
      });
    });
    const client = await connect();
    await client.callTool({ name: "good" });
    await client.callTool({ name: "bad" });
    await client.callTool({ name: "unknown" }).catch(() => {});
    const text = await (await fetch(new URL("/metrics", url))).text();
    expect(text).toMatch(/mcp_requests_total\{method="tools\/call",name="good",outcome="done"\} 1/);
    expect(text).toMatch(/mcp_requests_total\{method="tools\/call",name="bad",outcome="failed"\} 1/);
    expect(text).toMatch(/mcp_requests_total\{method="tools\/call",name="",outcome="error"\} 1/);
    expect(text).toMatch(/mcp_request_duration_seconds_count\{method="tools\/call",name="good"\} 1/);
  });
});

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
