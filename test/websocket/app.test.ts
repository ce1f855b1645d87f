import { App, Blueprint, currentRequest, Depends, ForbiddenError } from "stoa";
import { testClient, type WebSocketRefusedError } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { eventually } from "./server.js";

describe("a WebSocket route of an application", () => {
  it("Middleware and guards run before the upgrade of a WebSocket", async () => {
    const seen: string[] = [];
    const app = new App();
    app.use((_, next) => {
      seen.push("middleware");
      return next();
    });
    const refuse = (): never => {
      throw new ForbiddenError("members only");
    };
    app.websocket("/members", { guards: [refuse] }, () => void seen.push("handler"));
    await using client = testClient(app);
    const error = await client.websocket("/members").catch((reason: unknown) => reason);
    expect((error as WebSocketRefusedError).status).toBe(403);
    expect(await (error as WebSocketRefusedError).response.json()).toMatchObject({ detail: "members only" });
    expect(seen).toEqual(["middleware"]);
  });

  it("A client is refused if the server begins to drain during its handshake", async () => {
    const app = new App();
    app.use({ before: () => queueMicrotask(() => hostOf(app).beginDrain()) });
    app.websocket("/late", () => {});
    await using client = testClient(app);
    const error = await client.websocket("/late").catch((reason: unknown) => reason);
    expect((error as WebSocketRefusedError).status).toBe(503);
  });

  it("Dependencies of a WebSocket are disposed when both the handler and the connection have ended", async () => {
    const events: string[] = [];
    const app = new App();
    app.registerScoped("unit", { dispose: () => void events.push("disposed") }, () => "the unit");
    const inject = { unit: Depends<string>("unit") };
    app.websocket("/work", { inject }, async (socket, { unit }) => {
      await socket.sendText(unit);
      await socket.recv();
      events.push("handler done");
    });
    await using client = testClient(app);
    const socket = await client.websocket("/work");
    expect((await socket.recv())?.text).toBe("the unit");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(events).toEqual([]);
    await socket.close();
    await eventually(() => events.length === 2);
    expect(events).toEqual(["handler done", "disposed"]);
  });

  it("The request of a WebSocket is the current request in everything its handler calls", async () => {
    const app = new App();
    app.enableRequestContext();
    app.websocket("/where", async (socket) => {
      await socket.recv();
      await socket.sendText(currentRequest().path);
    });
    await using client = testClient(app);
    const socket = await client.websocket("/where");
    await socket.sendText("?");
    expect((await socket.recv())?.text).toBe("/where");
  });

  it("A WebSocket route can share its path with an ordinary route, and be in a blueprint", async () => {
    const app = new App();
    const blueprint = new Blueprint("/live");
    blueprint.websocket("/news/{topic}", async (socket) => {
      await socket.sendText(socket.params.topic);
    });
    blueprint.get("/news/{topic}", () => "plain");
    app.registerBlueprint(blueprint);
    await using client = testClient(app);
    expect(await (await client.get("/live/news/x")).text()).toBe("plain");
    const socket = await client.websocket("/live/news/weather");
    expect((await socket.recv())?.text).toBe("weather");
    expect((await socket.closed).code).toBe(1000);
  });

  it("An ordinary request to a WebSocket route gets 426", async () => {
    const app = new App();
    app.websocket("/ws", () => {});
    await using client = testClient(app);
    const response = await client.get("/ws");
    expect(response.status).toBe(426);
    expect(response.headers.get("upgrade")).toBe("websocket");
  });

  it("A WebSocket route refuses unknown options", () => {
    const app = new App();
    const options = { max_mesage_size: 1 } as object;
    expect(() => app.websocket("/ws", options, () => {})).toThrow("did you mean 'max_message_size'?");
    expect(() => app.websocket("/ws", { maxMessageSize: 0 }, () => {})).toThrow("option 'maxMessageSize'");
  });
});
