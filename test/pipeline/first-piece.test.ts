import { App, Response } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";

interface Line {
  readonly message: string;
  readonly error: unknown;
}

/** An application whose streams fail in several ways, with the lines that it logs at level error. */
function failing() {
  const app = new App();
  const lines: Line[] = [];
  const log = () => {};
  const logger = {
    debug: log,
    info: log,
    warn: log,
    error: (message: string, fields?: Record<string, unknown>) =>
      void lines.push({ message, error: fields?.["error"] }),
    child: () => logger,
  };
  app.logger = logger;
  app.enableCors();
  app.enableRequestId();
  app.enableMetrics();
  // biome-ignore lint/correctness/useYield: fails before its first piece
  app.get("/early", async function* () {
    throw new RangeError("no connection");
  });
  app.get("/later", () =>
    Response.stream(
      (async function* () {
        await new Promise((resolve) => setTimeout(resolve, 20));
        throw new RangeError("no rows");
      })(),
    ),
  );
  app.get("/cut", async function* () {
    yield "one";
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new RangeError("half way");
  });
  app.get("/cut-at-once", async function* () {
    yield "one";
    throw new RangeError("half way");
  });
  app.get("/object", async function* () {
    yield { id: 1 };
  } as never);
  app.get("/events", () =>
    Response.sse(async function* (signal) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }),
  );
  app.get("/body", () => new Response({ id: 1 } as never));
  app.get("/fine", async function* () {
    yield "a";
    yield "b";
  });
  return { app, lines };
}

describe.each(["net", "node"] as const)("Streams on the %s transport", (transport) => {
  async function start(debug = true) {
    const { app, lines } = failing();
    const server = await serve(app, { transport, debug });
    onTestFinished(() => server.close());
    return { app, lines, get: (path: string, init?: RequestInit) => fetch(server.url + path, init) };
  }

  it.each(["/early", "/later"])(
    "A stream that fails before its first piece gets the error response of the contract: %s",
    async (path) => {
      const { lines, get } = await start();
      const response = await get(path, { headers: { origin: "https://a.example" } });
      expect(response.status).toBe(500);
      const { error } = (await response.json()) as { error: string };
      expect(error).toMatch(/^Async handler error: RangeError: no (connection|rows)$/);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("x-request-id")).toMatch(/./);
      expect(lines.map(({ message }) => message)).toEqual([`GET ${path} failed`]);
    },
  );

  it("A stream that fails before its first piece shows nothing of the error in production", async () => {
    const { get } = await start(false);
    const response = await get("/early");
    expect(response.status).toBe(500);
    expect(await response.text()).toBe('{"error":"Internal Server Error","status":500}');
  });

  it("An exception handler makes the response to a stream that fails before its first piece", async () => {
    const { app } = failing();
    app.exceptionHandler(RangeError, () => Response.json({ error: "try again" }, { status: 503 }));
    const server = await serve(app, { transport });
    onTestFinished(() => server.close());
    const response = await fetch(`${server.url}/early`);
    expect([response.status, await response.json()]).toEqual([503, { error: "try again" }]);
  });

  it.each(["/cut", "/cut-at-once"])(
    "A stream that breaks after a piece is cut off, logged with method and path, and counted as aborted: %s",
    async (path) => {
      const { lines, get } = await start();
      const response = await get(path);
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
      await vi.waitFor(() => expect(lines).toHaveLength(1));
      expect(lines[0]!.message).toBe(`GET ${path} was cut off: its body failed`);
      expect(lines[0]!.error).toBeInstanceOf(RangeError);
      const metrics = await (await get("/metrics")).text();
      expect(metrics).toContain(`framework_http_responses_aborted_total{method="GET",path="${path}"} 1`);
    },
  );

  it("A stream that yields something else than text or bytes is an error of the program", async () => {
    const { get } = await start();
    const response = await get("/object");
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: expect.stringContaining("text or bytes") });
  });

  it("A response with an object as its body is refused when it is made", async () => {
    const { get } = await start();
    const response = await get("/body");
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: expect.stringContaining("use Response.json()") });
  });

  it("The head of an event stream does not wait for its first event", async () => {
    const { get } = await start();
    const abort = new AbortController();
    const response = await get("/events", { signal: abort.signal });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    abort.abort();
  });

  it("A stream that does not fail is sent whole, and HEAD does not begin it", async () => {
    const { app } = failing();
    let begun = 0;
    app.get("/counted", async function* () {
      begun++;
      yield "piece";
    });
    const server = await serve(app, { transport });
    onTestFinished(() => server.close());
    expect(await (await fetch(`${server.url}/fine`)).text()).toBe("ab");
    expect((await fetch(`${server.url}/counted`, { method: "HEAD" })).status).toBe(200);
    expect(begun).toBe(0);
    expect(await (await fetch(`${server.url}/counted`)).text()).toBe("piece");
  });
});

describe("Streams that a middleware replaces", () => {
  it.each(["function", "after"] as const)("A stream that a middleware replaces is ended: %s", async (kind) => {
    const app = new App();
    let ended = 0;
    if (kind === "function") {
      app.use(async (_request, next) => {
        await next();
        return Response.json({ error: "denied" }, { status: 403 });
      });
    } else {
      app.use({ after: () => Response.json({ error: "denied" }, { status: 403 }) });
    }
    app.get("/", async function* () {
      try {
        yield "secret";
      } finally {
        ended++;
      }
    });
    const server = await serve(app);
    onTestFinished(() => server.close());
    expect((await fetch(server.url)).status).toBe(403);
    await vi.waitFor(() => expect(ended).toBe(1));
  });

  it("A stream that a middleware wraps is read to its end", async () => {
    const app = new App();
    app.use(async (_request, next) => {
      const { body } = await next();
      return Response.stream(
        (async function* () {
          for await (const piece of body as AsyncIterable<string>) yield piece.toUpperCase();
        })(),
      );
    });
    app.get("/", async function* () {
      yield "a";
      yield "b";
    });
    const server = await serve(app);
    onTestFinished(() => server.close());
    expect(await (await fetch(server.url)).text()).toBe("AB");
  });
});

describe("Streams through app.fetch", () => {
  it("A stream that fails before its first piece gets 500, one that breaks later is logged", async () => {
    const { app, lines } = failing();
    expect((await app.request("/early")).status).toBe(500);
    const response = await app.request("/cut");
    await expect(response.text()).rejects.toThrow("half way");
    expect(lines.map(({ message }) => message)).toEqual(["GET /early failed", "GET /cut was cut off: its body failed"]);
  });
});
