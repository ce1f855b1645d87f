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
});

function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}
