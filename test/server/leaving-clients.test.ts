import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { Request } from "../../src/http/request.js";
import { Response } from "../../src/http/response.js";
import { createNodeListener } from "../../src/server/node/transport.js";
import type { ListenAddress } from "../../src/server/transport.js";
import { get, openClient, start, transports } from "./support.js";

/** Handlers of which the first one ends when its request is aborted, and the others at once. */
function counted() {
  const counts = { begun: 0, aborted: 0, finished: 0 };
  const dispatch = (request: Request): Response | Promise<Response> => {
    counts.begun++;
    request.onFinish(() => void counts.finished++);
    const late = new Promise<Response>((resolve) => {
      request.onAbort(() => {
        counts.aborted++;
        resolve(new Response("late"));
      });
    });
    return request.path === "/wait" ? late : new Response("hello");
  };
  return { counts, dispatch };
}

const behind = 20;

/** Leaves while the response to the first of several requests is awaited. */
async function leave(address: ListenAddress, isBegun: () => boolean): Promise<void> {
  const client = await openClient(address, get("/wait") + get("/").repeat(behind));
  await expect.poll(isBegun, { timeout: 20_000 }).toBe(true);
  client.socket.resetAndDestroy();
}

describe("a client that leaves before its responses", () => {
  it.each(transports)(
    "All requests that have begun on a connection of the %s transport are aborted and finished when the client leaves",
    async (name, factory) => {
      const { counts, dispatch } = counted();
      const { address, transport } = await start(factory, dispatch);
      // Only node:http begins a request before the response to the one before it.
      const begun = name === "node" ? behind + 1 : 1;
      await leave(address, () => counts.begun === begun);
      const expected = { begun, aborted: begun, finished: begun };
      await expect.poll(() => counts, { timeout: 20_000 }).toEqual(expected);
      expect(transport.connections).toBe(0);
    },
  );

  it("All requests that have begun on a connection of the caller's own server are finished when the client leaves", async () => {
    const { counts, dispatch } = counted();
    await using server = createServer(createNodeListener(dispatch));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await leave({ host: "127.0.0.1", port }, () => counts.begun === behind + 1);
    await expect.poll(() => counts.finished, { timeout: 20_000 }).toBe(behind + 1);
  });
});
