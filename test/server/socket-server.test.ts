import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { Response } from "../../src/http/response.js";
import { listenAt } from "../../src/server/socket-server.js";
import { start, transports } from "./support.js";

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url));
const tls = { cert: fixture("cert.pem"), key: fixture("key.pem") };

describe("the listening half of a transport", () => {
  it("An error of a server that listens is reported and does not end the process", async () => {
    await using server = createServer();
    const reported: unknown[] = [];
    const { port } = await listenAt(server, { host: "127.0.0.1", port: 0 }, (error) => reported.push(error));
    const failure = new Error("too many open files");
    server.emit("error", failure);
    expect(reported).toEqual([failure]);
    expect((server.address() as AddressInfo).port).toBe(port);
  });

  it("An address that is in use is refused, and nothing is reported", async () => {
    await using first = createServer();
    await using second = createServer();
    const reported: unknown[] = [];
    const address = await listenAt(first, { host: "127.0.0.1", port: 0 }, (error) => reported.push(error));
    await expect(listenAt(second, address, (error) => reported.push(error))).rejects.toThrow("EADDRINUSE");
    expect(reported).toEqual([]);
  });

  it.each(transports)("A handshake under way ends when the %s transport is destroyed", async (_name, factory) => {
    const { address, transport } = await start(factory, () => new Response("ok"), { tls, headTimeout: 600 });
    const silent = connect(address.port, "127.0.0.1");
    silent.on("error", () => {});
    await once(silent, "connect");
    // Connections are accepted in order.
    const other = connectTls({ port: address.port, host: "127.0.0.1", ca: tls.cert });
    other.on("error", () => {});
    await once(other, "secureConnect");
    const closed = once(silent.resume(), "close");
    transport.destroy();
    await closed;
    other.destroy();
  });
});
