import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { type App, Blueprint, Depends, HttpError, Response, Role } from "stoa";
import { content } from "stoa/mcp";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { addEverything } from "./fixtures/everything.js";
import { call, serve, textOf } from "./support.js";

const secret = "the password is hunter2";

describe("tools", () => {
  it("A tool has validated input, dependencies and a structured result", async () => {
    const { connect } = await serve((app) => {
      app.registerSingleton("rate", 2);
      app.tool(
        "convert",
        {
          title: "Convert",
          description: "Converts an amount",
          input: z.object({ amount: z.number() }),
          output: z.object({ result: z.number() }),
          inject: { rate: Depends<number>("rate") },
          annotations: { readOnlyHint: true },
        },
        (_, { input, rate }) => ({ result: input.amount * rate, hidden: secret }),
      );
    });
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        name: "convert",
        title: "Convert",
        description: "Converts an amount",
        inputSchema: { type: "object", required: ["amount"] },
        outputSchema: { type: "object", required: ["result"] },
        annotations: { readOnlyHint: true },
      },
    ]);
    const result = await client.callTool({ name: "convert", arguments: { amount: 21 } });
    expect(result).toEqual({ content: [{ type: "text", text: '{"result":42}' }], structuredContent: { result: 42 } });
    const wrong = await client.callTool({ name: "convert", arguments: { amount: "many" } });
    expect(wrong.isError).toBe(true);
    expect(textOf(wrong)).toMatch(/^Invalid input\. amount: /);
    await expect(client.callTool({ name: "__proto__" })).rejects.toThrow('there is no tool "__proto__"');
  });

  it("A tool that fails tells the model why, and unexpected errors show nothing", async () => {
    const { connect } = await serve(
      (app) => {
        app.logger = silent;
        app.tool("conflict", {}, () => {
          throw new HttpError(409, "the room is taken");
        });
        app.tool("broken", {}, () => {
          throw new Error(secret);
        });
        app.exceptionHandler(RangeError, () => ({ detail: "out of range" }));
        app.tool("range", {}, () => {
          throw new RangeError(secret);
        });
      },
      {},
      { debug: false },
    );
    const client = await connect();
    const failure = async (name: string) => client.callTool({ name });
    expect(await failure("conflict")).toMatchObject({ isError: true, content: [{ text: "the room is taken" }] });
    expect(await failure("range")).toMatchObject({ isError: true, content: [{ text: "out of range" }] });
    const broken = await failure("broken");
    expect(broken.isError).toBe(true);
    expect(JSON.stringify(broken)).not.toContain("hunter2");
  });

  it("The guards of a tool see the user of the request that brings the call", async () => {
    const { connect } = await serve((app) => {
      app.use((request, next) => {
        request.context["role"] = request.headers.get("x-role");
        return next();
      });
      app.tool(
        "purge",
        { guards: [({ context }) => context["role"] === "admin" || "admins only"] },
        (request) => `by ${request.context["role"]}`,
      );
    });
    const refused = await (await connect({ "x-role": "guest" })).callTool({ name: "purge" });
    expect(refused).toMatchObject({ isError: true, content: [{ text: "admins only" }] });
    expect(textOf(await (await connect({ "x-role": "admin" })).callTool({ name: "purge" }))).toBe("by admin");
  });

  it("The middleware and the guards of the application run once for a call of a tool", async () => {
    const seen: string[] = [];
    const { post } = await serve((app) => {
      app.use((_, next) => {
        seen.push("middleware");
        return next();
      });
      app.addGuard(() => {
        seen.push("guard");
        return true;
      });
      app.tool("hi", { guards: [() => seen.push("own") > 0] }, () => "hi");
    });
    expect((await post(call("hi"))).status).toBe(200);
    expect(seen).toEqual(["middleware", "guard", "own"]);
  });

  it("A tool that takes too long ends with an error and an aborted signal", async () => {
    let aborted: unknown;
    const { connect } = await serve((app) => {
      app.logger = silent;
      app.tool(
        "slow",
        { timeout: 0.05 },
        ({ signal }) =>
          new Promise((resolve) =>
            signal.addEventListener("abort", () => {
              aborted = signal.reason;
              resolve("late");
            }),
          ),
      );
    });
    const result = await (await connect()).callTool({ name: "slow" });
    expect(result).toMatchObject({ isError: true, content: [{ text: "The request took too long to handle." }] });
    expect(aborted).toBeInstanceOf(HttpError);
  });

  it("Results of every kind become content", async () => {
    const { connect } = await serve((app) => {
      app.tool("nothing", {}, () => {});
      app.tool("list", {}, () => [1, 2]);
      app.tool("image", {}, () => new Response(Buffer.from("png"), { headers: { "Content-Type": "image/png" } }));
      app.tool(
        "archive",
        {},
        () => new Response(Buffer.from("zip"), { headers: { "Content-Type": "application/zip" } }),
      );
      app.tool("pieces", {}, async function* () {
        yield "a";
        yield "b";
      });
      app.tool("link", {}, () => content("see", { type: "resource_link", uri: "notes://1", name: "one" }));
      app.tool("events", {}, () => Response.sse(async function* () {}));
    });
    const client = await connect();
    const results: unknown[] = [];
    for (const name of ["nothing", "list", "image", "archive", "pieces", "link"]) {
      results.push((await client.callTool({ name })).content);
    }
    expect(results).toEqual([
      [],
      [{ type: "text", text: "[1,2]" }],
      [{ type: "image", data: "cG5n", mimeType: "image/png" }],
      [{ type: "resource", resource: { uri: "result:archive", mimeType: "application/zip", blob: "emlw" } }],
      [{ type: "resource", resource: { uri: "result:pieces", mimeType: "application/octet-stream", blob: "YWI=" } }],
      [
        { type: "text", text: "see" },
        { type: "resource_link", uri: "notes://1", name: "one" },
      ],
    ]);
    await expect(client.callTool({ name: "events" })).rejects.toThrow("The route sends events");
  });

  it("Scoped dependencies are disposed after the call", async () => {
    const events: string[] = [];
    const { connect } = await serve((app) => {
      app.registerScoped("connection", () => ({ [Symbol.dispose]: () => void events.push("disposed") }));
      app.tool("use", { inject: { connection: Depends("connection") } }, () => {
        events.push("used");
        return "ok";
      });
    });
    await (await connect()).callTool({ name: "use" });
    await expect.poll(() => events).toEqual(["used", "disposed"]);
  });

  it("Progress and log messages reach the client that wants them", async () => {
    const { connect } = await serve(addEverything);
    const client = await connect();
    const logged: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params.data));
    const progress: number[] = [];
    await client.callTool({ name: "test_tool_with_progress" }, undefined, {
      onprogress: (one) => progress.push(one.progress),
    });
    expect(progress).toEqual([0, 50, 100]);
    await client.callTool({ name: "test_tool_with_logging" });
    expect(logged).toEqual(["Tool execution started", "Tool processing data", "Tool execution completed"]);
    await client.setLoggingLevel("error");
    await client.callTool({ name: "test_tool_with_logging" });
    expect(logged).toHaveLength(3);
  });

  it("A call that the client cancels has its signal aborted", async () => {
    const seen: string[] = [];
    const { connect } = await serve((app) => {
      app.tool("wait", { timeout: 0 }, ({ signal }) => {
        seen.push("started");
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            seen.push(String(signal.reason));
            resolve("late");
          }),
        );
      });
    });
    const client = await connect();
    const cancel = new AbortController();
    const calling = client.callTool({ name: "wait" }, undefined, { signal: cancel.signal });
    calling.catch(() => {});
    await expect.poll(() => seen).toEqual(["started"]);
    cancel.abort("not needed");
    await expect(calling).rejects.toThrow();
    await expect.poll(() => seen).toEqual(["started", "Error: the call was cancelled"]);
    await client.ping();
  });

  it("A tool asks the model, the user and for the folders of the client", async () => {
    const { connect } = await serve((app) => {
      addEverything(app);
      app.tool("roots", {}, async ({ mcp }) => mcp.roots());
      app.tool("age", {}, async ({ mcp }) => {
        const { action, content: given } = await mcp.elicit("How old?", z.object({ age: z.number().int() }));
        return `${action} ${given?.age}`;
      });
    });
    const client = await connect({}, { sampling: {}, elicitation: {}, roots: {} });
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
      role: "assistant",
      model: "test",
      content: { type: "text", text: `${(params.messages[0]!.content as { text: string }).text}!` },
    }));
    let age: unknown = 42;
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: "accept",
      content: { age } as Record<string, string>,
    }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///home" }] }));
    const ask = async (name: string, given = {}) => textOf(await client.callTool({ name, arguments: given }));
    expect(await ask("test_sampling", { prompt: "hi" })).toBe("LLM response: hi!");
    expect(await ask("age")).toBe("accept 42");
    expect(await ask("roots")).toBe('[{"uri":"file:///home"}]');
    age = "old";
    expect(await ask("age")).toBe("The values that the user gave do not fit the schema.");
    client.setRequestHandler(CreateMessageRequestSchema, () => {
      throw new Error("the user said no");
    });
    expect(await ask("test_sampling", { prompt: "hi" })).toMatch(/^The client refused sampling\/createMessage: /);
  });

  it("A question to a client that cannot answer it fails at once", async () => {
    const { connect } = await serve((app) => {
      app.logger = silent;
      addEverything(app);
    });
    const result = await (await connect()).callTool({ name: "test_sampling", arguments: { prompt: "hi" } });
    expect(result.isError).toBe(true);
  });
});

describe("routes as tools", () => {
  const addBooks = (app: App): void => {
    const books = new Blueprint("/books", { guards: [new Role("reader")] });
    books.get(
      "/{id}",
      {
        description: "Finds a book",
        params: z.object({ id: z.number().int() }),
        query: z.object({ full: z.boolean().optional(), tags: z.array(z.string()).optional() }),
        response: z.object({ id: z.number(), full: z.boolean(), tags: z.array(z.string()), via: z.string() }),
        mcp: true,
      },
      (request, { params, query }) => ({
        id: params.id,
        full: query.full ?? false,
        tags: query.tags ?? [],
        via: request.mcp?.name ?? "http",
      }),
    );
    books.get("/secret", () => secret);
    books.put(
      "/{id}",
      {
        body: z.object({ title: z.string(), pages: z.number().optional() }),
        mcp: { name: "rename", title: "Rename", description: "Renames a book", annotations: { openWorldHint: false } },
      },
      ({ params }, { body }) => ({ id: params.id, ...body }),
    );
    books.post(
      "/bulk",
      { body: z.array(z.string()), mcp: true, operationId: "addBooks", status: 201 },
      (_, { body }) => ({ added: body.length }),
    );
    books.delete("/{id}", { mcp: false }, () => {});
    app.use((request, next) => {
      request.context["jwt_claims"] = { sub: "ada", roles: [request.headers.get("x-role") ?? ""] };
      return next();
    });
    app.registerBlueprint(books);
  };

  it("A route that says so is a tool with its parameters, query and body", async () => {
    const { connect } = await serve(addBooks);
    const client = await connect({ "x-role": "reader" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["getBooksById", "rename", "addBooks"]);
    expect(tools[0]).toMatchObject({
      description: "Finds a book",
      inputSchema: {
        properties: { id: { type: "integer" }, full: { type: "boolean" }, tags: { type: "array" } },
        required: ["id"],
      },
      outputSchema: { type: "object" },
      annotations: { readOnlyHint: true },
    });
    expect(tools[1]).toMatchObject({
      title: "Rename",
      description: "Renames a book",
      inputSchema: { required: ["id", "title"] },
      annotations: { openWorldHint: false },
    });
    expect(tools[2]!.inputSchema).toMatchObject({ properties: { body: { type: "array" } }, required: ["body"] });
    const run = async (name: string, given: object) =>
      (await client.callTool({ name, arguments: { ...given } })).structuredContent;
    expect(await run("getBooksById", { id: 7, full: true, tags: ["a", "b"] })).toEqual({
      id: 7,
      full: true,
      tags: ["a", "b"],
      via: "getBooksById",
    });
    expect(await run("rename", { id: "a/b", title: "Emma" })).toEqual({ id: "a/b", title: "Emma" });
    expect(await run("addBooks", { body: ["x", "y"] })).toEqual({ added: 2 });
  });

  it("A call passes the guards and the validation of the route", async () => {
    const { connect } = await serve(addBooks);
    const guest = await (await connect({ "x-role": "guest" })).callTool({ name: "addBooks", arguments: { body: [] } });
    expect(guest.isError).toBe(true);
    const client = await connect({ "x-role": "reader" });
    const failure = async (name: string, given: object) =>
      textOf(await client.callTool({ name, arguments: { ...given } }));
    expect(await failure("getBooksById", { id: "seven" })).toMatch(/^Invalid input\. id: /);
    expect(await failure("getBooksById", {})).toBe("'id' must be given");
    expect(await failure("rename", { id: 1, title: 5 })).toMatch(/^Invalid input\. title: /);
  });

  it("An argument cannot lead to another route", async () => {
    const { connect } = await serve(addBooks);
    const client = await connect({ "x-role": "reader" });
    for (const id of ["secret", "../books/secret", "secret?x=", "%73ecret"]) {
      const result = await client.callTool({ name: "getBooksById", arguments: { id } });
      expect(JSON.stringify(result)).not.toContain("hunter2");
      expect(result.isError).toBe(true);
    }
  });

  it("A parameter that no path can have is refused", async () => {
    const { connect } = await serve((app) => {
      app.get("/files/{id}", { mcp: { name: "file" } }, ({ params }) => params.id);
      app.get("/rest/{rest:*}", { mcp: { name: "rest" } }, ({ params }) => params.rest);
    });
    const client = await connect();
    const run = async (name: string, given: object) => client.callTool({ name, arguments: { ...given } });
    for (const id of [".", "..", "../x", "x/../y", "x\0", "\ud800"])
      for (const [name, given] of [["file", { id }] as const, ["rest", { rest: id }] as const])
        expect(await run(name, given), `${name} ${JSON.stringify(id)}`).toMatchObject({
          isError: true,
          content: [{ text: "the parameters of the path are not valid" }],
        });
    expect(await run("file", { id: null })).toMatchObject({ isError: true, content: [{ text: "'id' must be given" }] });
    for (const id of ["a/b", "a\\b", "...", "a..b", "%2e%2e", "50%"])
      expect(textOf(await run("file", { id }))).toBe(id);
    expect(textOf(await run("rest", { rest: "a/b" }))).toBe("a/b");
  });

  it("The request of a route has nothing of the message, and its result has a bound", async () => {
    const { connect } = await serve((app) => {
      app.get("/fields", { mcp: { name: "fields" } }, ({ headers }) => [
        ["mcp-session-id", "mcp-protocol-version", "content-type", "content-length"].map((name) => headers.has(name)),
        headers.get("x-user"),
      ]);
      app.get("/large", { mcp: { name: "large" } }, () =>
        Response.stream(
          (async function* () {
            for (let count = 0; count < 17; count++) yield Buffer.alloc(1024 * 1024);
          })(),
        ),
      );
    });
    const client = await connect({ "x-user": "ada" });
    const fields = await client.callTool({ name: "fields" });
    expect(JSON.parse(textOf(fields))).toEqual([[false, false, false, false], "ada"]);
    await expect(client.callTool({ name: "large" })).rejects.toThrow("The result is too large.");
  });

  it("The rate limit of a route counts calls of its tool", async () => {
    const { connect } = await serve((app) => {
      app.enableRateLimit({ maxRequests: 1000 });
      app.get("/once", { rateLimit: { maxRequests: 1, windowSecs: 3600 }, mcp: true }, () => "once");
    });
    const client = await connect();
    expect(textOf(await client.callTool({ name: "getOnce" }))).toBe("once");
    expect(await client.callTool({ name: "getOnce" })).toMatchObject({ isError: true });
  });
});

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
