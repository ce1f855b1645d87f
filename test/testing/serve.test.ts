import { App } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { Client } from "../websocket/client.js";

describe("an application served for a test", () => {
  it.each(["net", "node"] as const)(
    "A served application responds over the wire by the transport %s, and drains",
    async (transport) => {
      const events: string[] = [];
      const app = new App();
      app.onEvent("startup", () => void events.push("startup"));
      app.onEvent("shutdown", () => void events.push("shutdown"));
      const entered = gate();
      const released = gate();
      app.get("/slow", async () => {
        entered.open();
        await released.opened;
        return "done";
      });
      app.websocket("/echo", async (socket) => {
        for await (const message of socket) await socket.sendText(message.text ?? "");
      });
      const signals = process.listenerCount("SIGTERM");
      const server = await serve(app, { transport });
      expect(process.listenerCount("SIGTERM")).toBe(signals);
      expect(server.address.port).toBeGreaterThan(0);
      expect(server.url).toBe(`http://127.0.0.1:${server.address.port}`);
      using client = await Client.connect(`${server.url}/echo`);
      client.ws.send("hello");
      expect(await client.next()).toBe("hello");
      const slow = fetch(`${server.url}/slow`).then((response) => response.text());
      await entered.opened;
      const closing = server.close();
      released.open();
      await closing;
      expect(await slow).toBe("done");
      expect(await client.closed).toEqual({ code: 1001, reason: "" });
      expect(events).toEqual(["startup", "shutdown"]);
      await expect(fetch(server.url)).rejects.toThrow();
      await server.close();
    },
  );

  it("A served application accepts the limits of a server", async () => {
    const app = new App();
    app.get("/", () => "small");
    await using server = await serve(app, { maxHeadSize: 1024 });
    expect((await fetch(server.url, { headers: { "X-Large": "x".repeat(2000) } })).status).toBe(431);
    expect((await fetch(server.url)).status).toBe(200);
  });

  it.each<[given: unknown, message: string]>([
    [{ debg: true }, "unknown option 'debg' in serve(); did you mean 'debug'?"],
    [{ head_timout: 1 }, "unknown option 'head_timout' in serve(); did you mean 'head_timeout'?"],
    [{ debug: 1 }, "option 'debug' in serve() must be true or false, not 1"],
    [{ rateLimits: "no" }, "option 'rateLimits' in serve() must be true or false, not \"no\""],
    [{ transport: "foo" }, 'option \'transport\' in serve() must be one of "auto", "native", "net", "node"'],
    [{ request_timeout: "soon" }, "option 'request_timeout' in serve() must be a duration"],
    [{ maxHeadSize: 0 }, "option 'maxHeadSize' in serve() must be an integer of at least 1, not 0"],
    [true, "serve() takes an object of options, not true"],
  ])("serve() with %j is refused before the application starts", async (given, message) => {
    const app = new App();
    const events: string[] = [];
    app.onEvent("startup", () => void events.push("startup"));
    const error: unknown = await serve(app, given as never).catch((reason: unknown) => reason);
    expect((error as Error).message).toContain(message);
    expect((error as Error).stack).toContain("serve.test.ts");
    expect(events).toEqual([]);
    expect(app.phase).toBe("new");
  });

  it("The options of serve() have both spellings, and null counts as not given", async () => {
    const app = new App().get("/", () => new Promise<never>(() => {}));
    app.logger = silent;
    await using server = await serve(app, { request_timeout: "10ms", debug: null, transport: null } as never);
    expect((await fetch(server.url)).status).toBe(504);
    await using other = await serve(
      new App().get("/", () => "hello"),
      null,
    );
    expect(await (await fetch(other.url)).text()).toBe("hello");
  });
});

const silent = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silent,
};

function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}
