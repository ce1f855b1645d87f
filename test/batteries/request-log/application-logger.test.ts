import { App, createLogger, type RunOptions } from "stoa";
import { describe, expect, it, onTestFinished } from "vitest";
import { collect } from "../../logging/collect.js";
import { keepingLogger } from "../telemetry/traced.js";
import { send } from "../wire.js";

async function served(app: App, options: RunOptions = {}): Promise<string> {
  app.get("/books/{id}", () => "x");
  app.get("/broken", () => {
    throw new Error("broken");
  });
  const server = await app.run({ port: 0, exit: false, debug: false, ...options });
  onTestFinished(() => server.close());
  return server.url;
}

describe("the request log", () => {
  it("The request log goes to the application's own logger, with fields in place of a line", async () => {
    const app = new App().enableLogging().enableRequestId();
    const logger = keepingLogger();
    app.logger = logger;
    const url = await served(app);
    await send(url, "/books/1?token=t0p", { headers: { "x-request-id": "r1" } });
    await send(url, "/broken");
    const requests = logger.lines.filter(({ message }) => message === "request");
    expect(requests).toEqual([
      {
        level: "info",
        message: "request",
        method: "GET",
        path: "/books/1",
        status: 200,
        latency_ms: expect.any(Number),
        ip: "127.0.0.1",
        request_id: "r1",
      },
      expect.objectContaining({ level: "error", path: "/broken", status: 500 }),
    ]);
  });

  it("The request log goes to the output of a logger of the framework, in its format and from its level on", async () => {
    const sink = collect();
    const app = new App().enableLogging();
    app.logger = createLogger({ sink, level: "error", format: "pretty" });
    const url = await served(app);
    await send(url, "/books/1");
    await send(url, "/broken");
    const lines = sink.lines.filter((line) => line.includes(" GET "));
    expect(lines.filter((line) => line.includes("/books"))).toEqual([]);
    expect(lines.filter((line) => / GET {4}\/broken 500 /.test(line))).toHaveLength(1);
  });

  it("The request log goes to an output of its own where one is given", async () => {
    const sink = collect();
    const logger = keepingLogger();
    const app = new App().enableLogging({ sink, format: "json" });
    app.logger = logger;
    const url = await served(app);
    await send(url, "/books/1");
    expect(sink.lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: "request", path: "/books/1" }]);
    expect(logger.lines.filter(({ message }) => message === "request")).toEqual([]);
  });

  it("The request log cuts a long path for any logger, and a logger that throws fails no request", async () => {
    const app = new App().enableLogging();
    const logger = keepingLogger();
    app.logger = {
      ...logger,
      info(message, fields) {
        logger.info(message, fields);
        if (message === "request") throw new Error("no disk");
      },
    };
    const url = await served(app);
    expect((await send(url, `/books/${"x".repeat(5000)}`)).status).toBe(200);
    const [line] = logger.lines.filter(({ message }) => message === "request");
    expect(line!["path"]).toHaveLength(2049);
  });
});
