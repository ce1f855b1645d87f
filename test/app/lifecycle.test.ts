import { App } from "stoa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { hostOf } from "../../src/app/app.js";

describe("the start", () => {
  it("Nothing can be added after the start has begun, while the features of routes are still loaded", async () => {
    const app = new App();
    app.get("/", { rateLimit: { maxRequests: 1 }, cache: true, circuitBreaker: true }, () => "here");
    const started = app.start();
    expect(() => app.get("/late", () => "")).toThrow("too late");
    expect(() => app.enableSessions({ secret: "s".repeat(32) })).toThrow("enableSessions() comes too late");
    await started;
    expect((await app.request("/")).headers.get("ratelimit-limit")).toBe("1");
    expect((await app.circuitBreakers()).map(({ route }) => route)).toEqual(["GET /"]);
  });

  it("The start by run() waits for the code below the call", async () => {
    const app = new App();
    const running = app.run({ port: 0, host: "127.0.0.1", logs: false, exit: false });
    app.get("/", () => "below");
    const server = await running;
    expect(await (await fetch(server.url)).text()).toBe("below");
    await server.close();
  });
});

describe("lifecycle hooks", () => {
  it("Shutdown hooks wait for a start that is under way", async () => {
    const app = new App();
    const order: string[] = [];
    app.onEvent("startup", async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push("start");
    });
    app.onEvent("shutdown", () => void order.push("stop"));
    await Promise.all([app.start(), app.stop()]);
    expect([...order, app.phase]).toEqual(["start", "stop", "stopped"]);
  });

  it("app.stop() of a running application drains and closes its server, also while it starts", async () => {
    const app = new App();
    const order: string[] = [];
    let finish = (): void => {};
    app.get("/", async () => {
      order.push("request");
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      order.push("response");
    });
    app.onEvent("shutdown", () => void order.push("stop"));
    const { url } = await app.run({ port: 0, exit: false });
    const response = fetch(url);
    await vi.waitUntil(() => order.length === 1);
    const stopped = app.stop();
    await vi.waitUntil(() => app.phase === "draining");
    finish();
    expect((await response).status).toBe(204);
    await stopped;
    expect(order).toEqual(["request", "response", "stop"]);
    await expect(fetch(url)).rejects.toThrow("fetch failed");

    const early = new App();
    const running = early.run({ port: 0, exit: false });
    await early.stop();
    await expect(fetch((await running).url)).rejects.toThrow("fetch failed");
  });

  it("A shutdown hook that fails is reported to the server", async () => {
    const app = new App();
    app.logger = { ...app.logger, error() {} };
    app.onEvent("shutdown", () => {
      throw new Error("not saved");
    });
    await app.start();
    expect(await hostOf(app).stop()).toBe(false);
  });

  it("Hooks of an application that was stopped before its start still run", async () => {
    const app = new App();
    const order: string[] = [];
    app.onEvent("startup", () => void order.push("start"));
    app.onEvent("shutdown", () => void order.push("stop"));
    await app.stop();
    await app.start();
    await app.stop();
    expect([...order, app.phase]).toEqual(["start", "stop", "stopped"]);
  });

  it("Hooks run at startup in order and at shutdown in reverse, once", async () => {
    const app = new App();
    const order: string[] = [];
    app.onEvent("startup", () => void order.push("start 1"));
    app.on_event("startup")(async () => {
      await Promise.resolve();
      order.push("start 2");
    });
    app.onEvent("shutdown", () => void order.push("stop 1"));
    app.onEvent("shutdown", () => void order.push("stop 2"));
    app.get("/", () => order.length);
    await Promise.all([app.request("/"), app.request("/")]);
    await app.start();
    expect(order).toEqual(["start 1", "start 2"]);
    await app.stop();
    await app.stop();
    expect(order).toEqual(["start 1", "start 2", "stop 2", "stop 1"]);
  });

  it("A startup hook can fill the state that handlers read through request.app", async () => {
    const app = new App();
    app.onEvent("startup", () => {
      app.state["greeting"] = "hello";
    });
    app.get("/", (request) => String(request.app.state["greeting"]));
    expect(await (await app.request("/")).text()).toBe("hello");
  });

  it("A startup hook that fails stops the start", async () => {
    const app = new App();
    let second = false;
    app.onEvent("startup", () => {
      throw new Error("no database");
    });
    app.onEvent("startup", () => {
      second = true;
    });
    await expect(app.start()).rejects.toThrow("no database");
    expect(second).toBe(false);
  });

  it("A shutdown hook that fails does not stop the others", async () => {
    const app = new App();
    const failures: unknown[] = [];
    let ran = false;
    app.logger = { ...app.logger, error: (_message, fields) => void failures.push(fields?.["error"]) };
    app.onEvent("shutdown", () => {
      ran = true;
    });
    app.onEvent("shutdown", () => Promise.reject(new Error("stuck")));
    await app.start();
    await app.stop();
    expect(ran).toBe(true);
    expect(failures).toEqual([new Error("stuck")]);
  });

  it("onEvent() refuses an unknown event and anything that is not a function", () => {
    const app = new App();
    expect(() => app.onEvent("boot" as never, () => {})).toThrow(`onEvent takes 'startup' or 'shutdown', not "boot"`);
    expect(() => app.onEvent("startup", 1 as never)).toThrow("the startup hook must be a function");
  });
});

describe("a startup hook", () => {
  it.each([
    ["app.request()", (app: App) => app.request("/"), "a request to the application in a startup hook"],
    ["app.start()", (app: App) => app.start(), "app.start() in a startup hook"],
    ["app.stop()", (app: App) => app.stop(), "app.stop() in a startup hook"],
  ])(
    "A startup hook that awaits %s of its own application fails the start instead of waiting forever",
    async (_, call, message) => {
      const app = new App();
      app.onEvent("startup", async () => {
        await new Promise((resolve) => setImmediate(resolve));
        await call(app);
      });
      await expect(app.start()).rejects.toThrow(`${message} would never end`);
    },
  );

  it("A startup hook can send requests to another application, while requests to its own application wait", async () => {
    const other = new App();
    other.get("/", () => "other");
    const app = new App();
    app.get("/", () => app.state["found"]);
    app.onEvent("startup", async () => {
      app.state["found"] = await (await other.request("/")).text();
    });
    const responses = await Promise.all([app.request("/"), app.request("/")]);
    expect(await Promise.all(responses.map((response) => response.text()))).toEqual(["other", "other"]);
    await app.stop();
  });
});

describe("a startup hook that does not end", () => {
  it("The log names a startup hook that the start waits for, and its place, again with longer pauses", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const app = new App();
    const lines: string[] = [];
    app.logger = { ...app.logger, warn: (line) => void lines.push(line) };
    let end = (): void => {};
    app.onEvent("startup", async function connectMail() {
      await new Promise<void>((resolve) => (end = resolve));
    });
    const started = app.start();
    await vi.advanceTimersByTimeAsync(9_999);
    expect(lines).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_001);
    const hook = String.raw`the startup hook connectMail \(.*lifecycle\.test\.ts:\d+:\d+\) has not ended after`;
    expect(lines).toEqual(
      [10, 30, 70].map((seconds) => expect.stringMatching(`^${hook} ${seconds} s; the start waits for it$`)),
    );
    end();
    await started;
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(lines).toHaveLength(3);
  });
});
