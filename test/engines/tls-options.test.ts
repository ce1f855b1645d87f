import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { openDatabase, openKvStore } from "stoa";
import { createAmqpBroker, createKafkaBroker } from "stoa/messaging";
import { describe, expect, it, onTestFinished } from "vitest";

const path = (name: string): string => new URL(`../server/fixtures/${name}`, import.meta.url).pathname;
const pem = (name: string): string => readFileSync(path(name), "utf8");
const client = { cert: pem("client.pem"), key: pem("client-key.pem") };

interface TlsOptions {
  readonly cert?: string;
  readonly key?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Opens a connection and closes it: the server is none of the engine's kind. */
type Attempt = (port: number, tls: TlsOptions) => Promise<unknown>;

const engines: [name: string, attempt: Attempt][] = [
  [
    "the key-value store",
    (port, tls) => openKvStore({ url: `rediss://127.0.0.1:${port}`, tls, required: true, connectTimeout: "3s" }),
  ],
  [
    "AMQP",
    async (port, tls) => {
      const broker = await createAmqpBroker({ url: `amqps://127.0.0.1:${port}`, tls, connectTimeout: "3s" });
      await broker.open().finally(() => broker.close());
    },
  ],
  [
    "Kafka",
    async (port, tls) => {
      const broker = await createKafkaBroker({ brokers: [`127.0.0.1:${port}`], tls, connectTimeout: "3s" });
      await broker.open().finally(() => broker.close());
    },
  ],
];

/** A server with TLS that notes the subjects of the clients whose handshakes end, and then says nothing. */
async function silentServer(greet?: (socket: Socket) => Promise<void>): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (socket) => {
    sockets.add(socket.on("error", () => {}));
    await greet?.(socket);
    const secure = new TLSSocket(socket, {
      isServer: true,
      cert: pem("cert.pem"),
      key: pem("key.pem"),
      requestCert: true,
      rejectUnauthorized: false,
    });
    secure.on("error", () => {});
    secure.once("secure", () => {
      seen.push(String(secure.getPeerCertificate().subject?.CN ?? "no certificate"));
      secure.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

describe.each(engines)("TLS of %s", (_name, attempt) => {
  it("The server gets the client certificate of the options cert and key", async () => {
    const { port, seen } = await silentServer();
    await expect(attempt(port, { ...client, rejectUnauthorized: false })).rejects.toThrow();
    expect(seen).toContain("billing");
  });

  it("A server with an unknown certificate is refused unless rejectUnauthorized is false", async () => {
    const { port, seen } = await silentServer();
    await expect(attempt(port, {})).rejects.toThrow();
    expect(seen).toEqual([]);
    await expect(attempt(port, { rejectUnauthorized: false })).rejects.toThrow();
    expect(seen).toContain("no certificate");
  });
});

describe("TLS of the database", () => {
  it("The server gets the client certificate of the options sslcert and sslkey", async () => {
    // The client asks for TLS first (PostgreSQL documentation, "SSL Session Encryption").
    const { port, seen } = await silentServer(async (socket) => {
      await once(socket, "data");
      socket.write("S");
    });
    const files = { sslcert: path("client.pem"), sslkey: path("client-key.pem") };
    await expect(
      openDatabase({ url: `postgres://x@127.0.0.1:${port}/x`, sslmode: "require", connectTimeout: "3s", ...files }),
    ).rejects.toThrow();
    expect(seen).toContain("billing");
  });
});
