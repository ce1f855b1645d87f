import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { App, Response } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";

/** A server whose event stream notes when its source is ended, and a client that has got the first event. */
async function streaming(
  transport: "net" | "node",
): Promise<{ socket: Socket; isEnded: () => boolean; send: () => void }> {
  const app = new App();
  let send = (): void => {};
  let isEnded = false;
  app.get("/events", () =>
    // Without a heartbeat: no write tells that the client has left.
    Response.sse(
      async function* () {
        try {
          for (let i = 0; ; i++) {
            yield `event ${i}`;
            await new Promise<void>((resolve) => {
              send = resolve;
            });
          }
        } finally {
          isEnded = true;
        }
      },
      { heartbeat: 0 },
    ),
  );
  app.get("/signal", () => Response.sse((signal) => untilAborted(signal, () => (isEnded = true)), { heartbeat: 0 }));
  const server = await serve(app, { debug: false, transport });
  onTestFinished(() => server.close());
  const socket = connect({ port: Number(new URL(server.url).port), host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  return { socket, isEnded: () => isEnded, send: () => send() };
}

async function* untilAborted(signal: AbortSignal, ended: () => void): AsyncGenerator<string> {
  yield "event 0";
  await once(signal, "abort");
  ended();
}

async function read(socket: Socket, wanted: string): Promise<string> {
  let text = "";
  socket.on("data", (data) => {
    text += data;
  });
  await vi.waitFor(() => expect(text).toContain(wanted), { timeout: 20_000 });
  return text;
}

describe.each(["net", "node"] as const)("event streams on the %s transport", (transport) => {
  it.each([
    ["closes its connection", (socket: Socket) => socket.destroy()],
    ["resets its connection", (socket: Socket) => socket.resetAndDestroy()],
    ["closes one half and then the other", (socket: Socket) => socket.end(() => socket.destroy())],
  ])("An event stream without events ends its source soon after a client %s", async (_, leave) => {
    const { socket, isEnded } = await streaming(transport);
    socket.write("GET /signal HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await read(socket, "event 0");
    leave(socket);
    await vi.waitFor(() => expect(isEnded()).toBe(true), { timeout: 20_000 });
  });
});

describe("event streams and half-closed connections", () => {
  it("A client that has closed its own half of a connection goes on to get the events on the net transport", async () => {
    const { socket, isEnded, send } = await streaming("net");
    socket.write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await read(socket, "event 0");
    socket.end();
    // The server has noticed: it asks whether somebody is there.
    await read(socket, ": \n");
    for (const i of [1, 2, 3]) {
      send();
      await read(socket, `event ${i}`);
    }
    await read(socket, ": \n");
    expect(isEnded()).toBe(false);
    socket.destroy();
    await vi.waitFor(
      () => {
        send();
        expect(isEnded()).toBe(true);
      },
      { timeout: 20_000 },
    );
  });

  it("A client that has closed its own half of a connection gets no more events on the node transport", async () => {
    const { socket, isEnded, send } = await streaming("node");
    socket.write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await read(socket, "event 0");
    const closed = once(socket, "end");
    socket.end();
    await closed;
    send();
    await vi.waitFor(() => expect(isEnded()).toBe(true), { timeout: 20_000 });
  });
});
