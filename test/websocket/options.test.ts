import { describe, expect, it } from "vitest";
import { type SocketOptions, socketSettings } from "../../src/websocket/options.js";

describe("the options of a WebSocket route", () => {
  it("A WebSocket route has safe defaults", () => {
    expect(socketSettings({})).toEqual({
      origins: null,
      protocols: [],
      closeTimeout: 10_000,
      compression: false,
      limits: {
        maxMessageSize: 1_048_576,
        maxQueued: 1_048_576,
        maxBuffered: 1_048_576,
        sendTimeout: 30_000,
        heartbeat: 30_000,
      },
    });
  });

  it("The times of a WebSocket route take text with a unit, and become milliseconds once", () => {
    const { limits, closeTimeout } = socketSettings({ heartbeat: "1m", sendTimeout: "250ms", closeTimeout: 0.5 });
    expect([limits.heartbeat, limits.sendTimeout, closeTimeout]).toEqual([60_000, 250, 500]);
  });

  it("Origins are normalized to the form of browsers", () => {
    expect(socketSettings({ origins: ["HTTPS://App.Example:443"] }).origins).toEqual(["https://app.example"]);
  });

  it.each<[SocketOptions, string]>([
    [{ origins: ["https://app.example/"] }, "option 'origins' in a WebSocket route must be"],
    [{ origins: ["app.example"] }, "an origin such as 'https://app.example', without a path"],
    [{ origins: "https://app.example" as "*" }, "option 'origins'"],
    [{ protocols: ["a b"] }, "option 'protocols' in a WebSocket route must be a list of which each item is a token"],
    [{ maxMessageSize: 0 }, "option 'maxMessageSize' in a WebSocket route must be an integer from 1 to 2147483647"],
    [{ maxMessageSize: 2 ** 31 }, "option 'maxMessageSize'"],
    [{ messageRate: 0 }, "option 'messageRate' in a WebSocket route must be a number from 0.001 to 1000000"],
    [{ messageBurst: 5 }, "option 'messageBurst' in a WebSocket route needs messageRate"],
    [{ heartbeat: -1 }, "option 'heartbeat' in a WebSocket route must be a duration from 0 to 1d, not -1"],
    [{ compression: 1 as unknown as boolean }, "option 'compression' in a WebSocket route must be true or false"],
  ])("A WebSocket route refuses the options %j", (options, message) => {
    expect(() => socketSettings(options)).toThrow(message);
  });
});
