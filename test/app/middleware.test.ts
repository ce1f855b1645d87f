import { App, currentRequest, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";

describe("middleware", () => {
  it("Middleware runs in the order added, and on the way back in reverse, in both forms", async () => {
    const order: string[] = [];
    const app = new App();
    app.use({ before: () => void order.push("a in"), after: () => void order.push("a out") });
    app.use(async (_request, next) => {
      order.push("b in");
      const response = await next();
      order.push("b out");
      return response;
    });
    app.use((_request, next) => {
      order.push("c in");
      return next();
    });
    app.get("/", () => {
      order.push("handler");
      return "";
    });
    await app.request("/");
    expect(order).toEqual(["a in", "b in", "c in", "handler", "b out", "a out"]);
  });

  it("Middleware can respond in place of the handler", async () => {
    const app = new App();
    let ran = false;
    app.use({ before: (request) => (request.path === "/before" ? { early: true } : undefined) });
    app.use((request, next) => (request.path === "/around" ? Response.json({ early: 2 }, 202) : next()));
    app.use({
      before: async (request) => (request.path === "/async" ? new Response("async", 203) : undefined),
    });
    for (const path of ["/before", "/around", "/async"]) {
      app.get(path, () => {
        ran = true;
      });
    }
    expect(await (await app.request("/before")).json()).toEqual({ early: true });
    expect((await app.request("/around")).status).toBe(202);
    expect((await app.request("/async")).status).toBe(203);
    expect(ran).toBe(false);
  });

  it("Middleware can change or replace the response", async () => {
    const app = new App();
    app.use({ after: (_request, response) => void response.header("X-One", "1") });
    app.use({ after: async () => Response.text("replaced", 207) });
    app.get("/", () => "original");
    const response = await app.request("/");
    expect([response.status, response.headers.get("x-one"), await response.text()]).toEqual([207, "1", "replaced"]);
  });

  it("Middleware sees errors as responses, and the thrown value in request.error", async () => {
    const app = new App();
    const seen: unknown[] = [];
    app.logger = silent;
    app.use(async (request, next) => {
      const response = await next();
      seen.push(response.status, (request.error as Error).message);
      return response;
    });
    app.get("/sync", () => {
      throw new Error("sync failure");
    });
    app.get("/async", async () => {
      throw new Error("async failure");
    });
    await app.request("/sync");
    await app.request("/async");
    expect(seen).toEqual([500, "sync failure", 500, "async failure"]);
  });

  it("Middleware that throws, at any place and in any form, gives the error's response to the outer ones", async () => {
    for (const broken of [
      {
        before() {
          throw new Error("x");
        },
      },
      { before: () => Promise.reject(new Error("x")) },
      {
        after() {
          throw new Error("x");
        },
      },
      { after: () => Promise.reject(new Error("x")) },
      () => {
        throw new Error("x");
      },
      async (_request: unknown, next: () => unknown) => {
        await next();
        throw new Error("x");
      },
    ]) {
      const app = new App();
      app.logger = silent;
      app.use({ after: (_request, response) => void response.header("X-Outside", "seen") });
      app.use(broken as never);
      app.get("/", () => "fine");
      const response = await app.request("/");
      expect(response.status).toBe(500);
      expect(response.headers.get("x-outside")).toBe("seen");
    }
  });

  it("Middleware that returns nothing keeps the response of next(), and without next() it is an error", async () => {
    const app = new App();
    app.logger = silent;
    app.use(async (request, next) => {
      if (request.path === "/ok") await next();
    });
    app.get("/ok", () => "ok");
    app.get("/lost", () => "lost");
    expect(await (await app.request("/ok")).text()).toBe("ok");
    const lost = await app.request("/lost");
    expect(lost.status).toBe(500);
    expect(((await lost.json()) as { error: string }).error).toContain("neither returned a response nor called next()");
  });

  it("The rest of the chain runs once, however often next() is called", async () => {
    const app = new App();
    let runs = 0;
    app.use(async (_request, next) => {
      await next();
      return next();
    });
    app.get("/", () => ++runs);
    expect(await (await app.request("/")).json()).toBe(1);
  });

  it("app.use() refuses anything that is not a middleware", () => {
    expect(() => new App().use({} as never)).toThrow("must be a middleware: a function (request, next)");
    expect(() => new App().use(null as never)).toThrow("must be a middleware");
  });

  it("A synchronous chain creates no promise", async () => {
    const app = new App();
    app.use({ before() {}, after() {} }).use((_request, next) => next());
    app.addGuard(() => true);
    app.get("/", () => "sync");
    await app.start();
    const { Request } = await import("stoa");
    const { WebSource } = await import("../../src/http/web.js");
    const answer = hostOf(app).dispatch(new Request(new WebSource(new globalThis.Request("http://x/"))));
    expect(answer).toBeInstanceOf(Response);
  });
});

describe("reading the body", () => {
  it("The body is read before the application's middleware and after early middleware", async () => {
    const app = new App();
    const seen: string[] = [];
    app.use({ before: (request) => void seen.push((request.json() as { a: string }).a) });
    app.use({ early: true, before: () => void seen.push("early does not move before those added first") });
    app.post("/", () => "ok");
    await app.request("/", { method: "POST", body: '{"a":"read"}', headers: { "content-type": "application/json" } });
    expect(seen[0]).toBe("read");
  });

  it("The body is not read if early middleware refuses", async () => {
    const app = new App();
    app.use({ early: true, before: () => Response.json({}, 401) });
    app.post("/", () => "ok");
    let pulled = 0;
    const body = new ReadableStream(
      {
        pull(controller) {
          pulled++;
          controller.enqueue(new Uint8Array(1));
        },
      },
      { highWaterMark: 0 },
    );
    const response = await app.request("/", { method: "POST", body, duplex: "half" } as RequestInit);
    expect(response.status).toBe(401);
    expect(pulled).toBe(0);
  });

  it("Reading the body stops at the limit of the route", async () => {
    const app = new App();
    app.post("/small", { bodyLimit: 5 }, (request) => request.text());
    expect((await app.request("/small", { method: "POST", body: "12345" })).status).toBe(200);
    const refused = await app.request("/small", { method: "POST", body: "123456" });
    expect(refused.status).toBe(413);
    expect(await refused.json()).toMatchObject({ title: "Payload Too Large", error: "Payload Too Large", status: 413 });
  });

  it("The handler of a streaming route reads the body itself", async () => {
    const app = new App();
    app.post("/up", { stream: true }, async (request) => {
      let size = 0;
      for await (const piece of request.stream()) size += piece.length;
      return { size };
    });
    expect(await (await app.request("/up", { method: "POST", body: "x".repeat(100_000) })).json()).toEqual({
      size: 100_000,
    });
  });
});

describe("the current request", () => {
  it("currentRequest() works in everything that runs for a request, once enabled", async () => {
    const app = new App();
    app.enableRequestContext();
    const path = async (): Promise<string> => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return currentRequest().path;
    };
    app.get("/{name}", () => path());
    const answers = await Promise.all(["/a", "/b"].map(async (p) => (await app.request(p)).text()));
    expect(answers).toEqual(["/a", "/b"]);
  });

  it("currentRequest() outside a request throws a clear error", () => {
    expect(() => currentRequest()).toThrow("call app.enableRequestContext()");
  });
});

describe("a handler that takes too long", () => {
  it.each([0.02, "20ms"] as const)(
    "A handler that takes longer than %s gets 504, its signal is aborted and its late result is ignored",
    async (timeout) => {
      const app = new App();
      app.logger = silent;
      let aborted: unknown;
      let finish: (value: string) => void = () => {};
      app.use({ after: (_request, response) => void response.header("X-Seen", "yes") });
      app.get("/slow", { timeout }, (request) => {
        request.signal.addEventListener("abort", () => (aborted = request.signal.reason));
        return new Promise<string>((resolve) => (finish = resolve));
      });
      const response = await app.request("/slow");
      expect(response.status).toBe(504);
      expect(await response.json()).toMatchObject({ title: "Gateway Timeout", status: 504 });
      expect(aborted).toMatchObject({ status: 504 });
      finish("late");
    },
  );
});

const silent = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silent,
};

describe("a response that the application keeps", () => {
  it("A response object that is used again is sent without the earlier additions of middleware", async () => {
    const app = new App();
    const kept = Response.json({ error: "no" }, 404);
    app.use({ after: (_request, response) => response.addField("X-Once", "1") });
    app.get("/", () => kept);
    for (let i = 0; i < 3; i++) expect((await app.request("/")).headers.get("x-once")).toBe("1");
  });
});
