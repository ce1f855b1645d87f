import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectPlain, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, createServer, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { Response } from "../../src/http/response.js";
import type { Logger } from "../../src/kit/logger.js";
import { run } from "../../src/server/run.js";
import type { RunOptions } from "../../src/server/run-options.js";
import type { RunTarget } from "../../src/server/run-target.js";
import type { RunningServer } from "../../src/server/running-server.js";
import { tlsOption } from "../../src/server/tls/fields.js";
import { TlsKeeper } from "../../src/server/tls/keeper.js";

const fixture = (name: string): string => new URL(`./fixtures/${name}`, import.meta.url).pathname;
const pem = (name: string): string => readFileSync(fixture(name), "utf8");
const local = { cert: fixture("cert.pem"), key: fixture("key.pem") };
const hosts = { cert: fixture("hosts.pem"), key: fixture("hosts-key.pem") };
const rsa = { cert: fixture("rsa.pem"), key: fixture("rsa-key.pem") };
const transports = ["net", "node"] as const;

const servers: RunningServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

interface Log {
  readonly lines: { readonly text: string; readonly fields: unknown }[];
  readonly refused: string[];
}

async function start(options: RunOptions): Promise<{ port: number } & Log> {
  const log: Log = { lines: [], refused: [] };
  const target: RunTarget = {
    dispatch: (request) =>
      Response.json({ subject: request.clientCertificate?.subject, authorized: request.clientCertificate?.authorized }),
    logger: recording(log),
    refused: (code) => void log.refused.push(code),
    configure: () => {},
    start: async () => {},
    beginDrain: () => {},
    stop: async () => {},
    links: () => [],
  };
  const server = await run(target, { port: 0, exit: false, shutdownTimeout: 1, ...options });
  servers.push(server);
  return { port: server.address.port, ...log };
}

function recording({ lines }: Log): Logger {
  const line = (text: string, fields: unknown = {}): void => void lines.push({ text, fields });
  const logger: Logger = { debug: line, info: line, warn: line, error: line, child: () => logger };
  return logger;
}

/** Connects, and rejects if the server refuses: in TLS 1.3 that comes after the client's handshake. */
async function dial(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

async function ask(port: number, options: ConnectionOptions = {}): Promise<{ subject?: object; authorized?: boolean }> {
  const socket = await dial(port, options);
  socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const piece of socket.setEncoding("utf8")) text += piece;
  return JSON.parse(text.slice(text.indexOf("\r\n\r\n")));
}

const nameOf = (socket: TLSSocket): unknown => socket.getPeerCertificate().subject.CN;

describe.each(transports)("TLS on the %s transport", (transport) => {
  it("The TLS server chooses the certificate by the host that the client asks for", async () => {
    const { port } = await start({ transport, tls: { ...local, certificates: [hosts] } });
    const names: Record<string, unknown> = {};
    for (const servername of ["a.example", "x.b.example", "A.EXAMPLE", "localhost", "c.example", "x.y.b.example"]) {
      names[servername] = nameOf(await dial(port, { servername }));
    }
    expect(names).toEqual({
      "a.example": "a.example",
      "x.b.example": "a.example",
      "A.EXAMPLE": "a.example",
      localhost: "localhost",
      "c.example": "localhost",
      "x.y.b.example": "localhost",
    });
    expect(nameOf(await dial(port))).toBe("localhost");
  });

  it("The TLS server opens encrypted keys with their passphrases", async () => {
    const passphrase = "a secret";
    const encrypted = (name: string): string =>
      createPrivateKey(pem(name))
        .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase })
        .toString();
    const other = { cert: hosts.cert, key: encrypted("hosts-key.pem"), passphrase };
    const tls = { cert: local.cert, key: encrypted("key.pem"), passphrase, certificates: [other] };
    const { port } = await start({ transport, tls });
    expect(nameOf(await dial(port))).toBe("localhost");
    expect(nameOf(await dial(port, { servername: "a.example" }))).not.toBe("localhost");
    for (const broken of [
      { ...tls, passphrase: "wrong" },
      { ...tls, certificates: [{ ...other, passphrase: "wrong" }] },
    ]) {
      // One wrong passphrase in 256 gives bytes with a valid end, which are no key.
      await expect(start({ transport, tls: broken })).rejects.toThrow(/passphrase is missing or wrong|cannot be used/);
    }
  });

  it("The TLS server sends the further certificates of a certificate for another host", async () => {
    const certificates = [{ ...hosts, ca: fixture("ca.pem") }];
    const { port } = await start({ transport, tls: { ...local, certificates } });
    const sent = (await dial(port, { servername: "a.example" })).getPeerX509Certificate();
    expect([sent!.subject, sent!.issuerCertificate?.subject]).toEqual(["CN=a.example", "CN=Test Authority"]);
  });

  it("The TLS server requires a certificate of the configured authority from clients, on every host", async () => {
    const tls = { ...local, certificates: [hosts], clientCertificates: { ca: fixture("ca.pem") } };
    const { port, refused } = await start({ transport, tls });
    const client = { cert: pem("client.pem"), key: pem("client-key.pem") };
    const foreign = { cert: pem("foreign-client.pem"), key: pem("foreign-client-key.pem") };
    for (const servername of ["localhost", "a.example"]) {
      expect(await ask(port, { servername, ...client })).toEqual({
        subject: { CN: "billing", O: "Example" },
        authorized: true,
      });
      await expect(ask(port, { servername, ...foreign })).rejects.toThrow();
      await expect(ask(port, { servername })).rejects.toThrow();
    }
    await expect.poll(() => refused).toEqual(Array(4).fill("TLS_HANDSHAKE_FAILED"));
  });

  it("Clients without a valid certificate are let in where none is required, and the request shows it", async () => {
    const tls = { ...local, clientCertificates: { ca: fixture("ca.pem"), required: false } };
    const { port } = await start({ transport, tls });
    const foreign = { cert: pem("foreign-client.pem"), key: pem("foreign-client-key.pem") };
    expect(await ask(port)).toEqual({});
    expect(await ask(port, foreign)).toEqual({ subject: { CN: "billing" }, authorized: false });
  });

  it.each(["AES128-SHA", "AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384"])(
    "The TLS server refuses %s, which uses CBC or has no forward secrecy",
    async (ciphers) => {
      const { port } = await start({ transport, tls: rsa });
      await expect(dial(port, { ciphers, maxVersion: "TLSv1.2" })).rejects.toThrow(/handshake failure/);
    },
  );

  it("The TLS server speaks TLS 1.2 and 1.3 by default, and no version older than the configured one", async () => {
    const { port } = await start({ transport, tls: rsa });
    expect((await dial(port, { maxVersion: "TLSv1.2" })).getProtocol()).toBe("TLSv1.2");
    expect((await dial(port)).getProtocol()).toBe("TLSv1.3");
    const old: ConnectionOptions = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    await expect(dial(port, old)).rejects.toThrow();
    const strict = await start({ transport, tls: { ...rsa, minVersion: "TLSv1.3" } });
    await expect(dial(strict.port, { maxVersion: "TLSv1.2" })).rejects.toThrow();
    expect((await dial(strict.port)).getProtocol()).toBe("TLSv1.3");
  });

  it("The TLS server offers the configured ciphers only", async () => {
    const { port } = await start({ transport, tls: { ...rsa, ciphers: "ECDHE-RSA-AES256-GCM-SHA384" } });
    const socket = await dial(port, { maxVersion: "TLSv1.2" });
    expect(socket.getCipher().name).toBe("ECDHE-RSA-AES256-GCM-SHA384");
    const other = { ciphers: "ECDHE-RSA-AES128-GCM-SHA256", maxVersion: "TLSv1.2" } as const;
    await expect(dial(port, other)).rejects.toThrow();
  });

  it("TLS handshakes under way count as connections", async () => {
    const { port } = await start({ transport, tls: local, maxConnections: 2, headTimeout: 3 });
    const silent = [connectPlain(port, "127.0.0.1"), connectPlain(port, "127.0.0.1")];
    for (const socket of silent) {
      onTestFinished(() => void socket.destroy());
      await once(socket, "connect");
    }
    await expect(dial(port)).rejects.toThrow();
    for (const socket of silent) socket.destroy();
    const result = () => dial(port).then(nameOf, () => "refused");
    await expect.poll(result, { timeout: 30_000 }).toBe("localhost");
  });

  it.each([
    ["closes its connection before a byte", "", (socket: Socket) => socket.destroy()],
    [
      "closes its connection in the middle of its first message",
      "1603010200010001fc0303",
      (socket: Socket) => socket.destroy(),
    ],
    ["resets its connection", "1603010200010001fc0303", (socket: Socket) => socket.resetAndDestroy()],
    ["closes its half of the connection", "1603010200", (socket: Socket) => socket.end()],
  ])("The place of a TLS handshake is free again as soon as the client %s", async (_, sent, leave) => {
    const { port } = await start({ transport, tls: local, maxConnections: 1, headTimeout: 600 });
    const silent = connectPlain({ port, host: "127.0.0.1", allowHalfOpen: true });
    silent.on("error", () => {});
    onTestFinished(() => void silent.destroy());
    await once(silent, "connect");
    await expect(dial(port)).rejects.toThrow();
    if (sent !== "") await new Promise((resolve) => silent.write(Buffer.from(sent, "hex"), resolve));
    leave(silent);
    const result = () => dial(port).then(nameOf, () => "refused");
    await expect.poll(result, { timeout: 30_000 }).toBe("localhost");
  });

  it("TLS handshakes that fail are counted, and one line is logged about them in ten seconds", async () => {
    const { port, lines, refused } = await start({ transport, tls: local });
    for (let i = 0; i < 5; i++) {
      const socket = connectPlain(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write("GET / HTTP/1.1\r\n\r\n");
      await once(socket.resume(), "close");
    }
    await expect.poll(() => refused).toEqual(Array(5).fill("TLS_HANDSHAKE_FAILED"));
    const failed = lines.filter(({ text }) => text === "a TLS handshake failed");
    expect(failed).toEqual([
      { text: expect.anything(), fields: { code: "TLS_HANDSHAKE_FAILED", reason: "ERR_SSL_HTTP_REQUEST" } },
    ]);
  });

  it("New certificates are used when their files change, and the old ones while the new are not valid", async () => {
    const folder = mkdtempSync(join(tmpdir(), "stoa-tls-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
    copyFileSync(local.cert, files.cert);
    copyFileSync(local.key, files.key);
    const { port, lines } = await start({ transport, tls: files });
    const before = await dial(port);
    writeFileSync(files.cert, "half of a cert");
    await expect.poll(() => lines.map(({ text }) => text).join(), { timeout: 30_000 }).toMatch(/old ones stay in use/);
    expect(nameOf(await dial(port))).toBe("localhost");
    copyFileSync(hosts.cert, files.cert);
    copyFileSync(hosts.key, files.key);
    await expect.poll(() => dial(port).then(nameOf), { timeout: 30_000 }).toBe("a.example");
    expect(before.destroyed).toBe(false);
  });
});

describe("session tickets", () => {
  it("A TLS session is not resumed where clients have certificates, since the authorities could change", async () => {
    const { port } = await start({ tls: { ...rsa, clientCertificates: { ca: fixture("ca.pem"), required: false } } });
    const options = { maxVersion: "TLSv1.2" } as const;
    const first = await dial(port, options);
    const session = first.getSession();
    expect((await dial(port, { ...options, ...(session && { session }) })).isSessionReused()).toBe(false);
  });
});

describe("the options of TLS", () => {
  it.each([
    [{ cert: "x" }, /option 'key' is required in tls/],
    [{ ...local, certificates: [{ cert: "x" }] }, /option 'key' is required in tls\.certificates/],
    [{ ...local, certificates: [{ ...local, host: "a" }] }, /unknown option 'host' in tls\.certificates/],
    [{ ...local, clientCertificates: {} }, /option 'ca' is required in tls\.clientCertificates/],
    [{ ...local, min_version: "TLSv1.1" }, /option 'min_version' in tls must be one of "TLSv1.2", "TLSv1.3"/],
    [{ ...local, ciphers: "" }, /option 'ciphers' in tls must be a non-empty string/],
  ])("The options of TLS refuse %j", (options, message) => {
    expect(() => tlsOption.read!(options as never)).toThrow(message);
  });

  it("Ciphers that do not exist are refused when the server starts", () => {
    const logger = recording({ lines: [], refused: [] });
    expect(() => new TlsKeeper(tlsOption.read!({ ...local, ciphers: "NONE-SUCH" })!, logger)).toThrow(/no cipher/);
  });
});

it("Certificates that change between the start and the first look at their files are noticed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stoa-tls-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  copyFileSync(local.cert, files.cert);
  copyFileSync(local.key, files.key);
  const log: Log = { lines: [], refused: [] };
  const keeper = new TlsKeeper(tlsOption.read!(files)!, recording(log));
  onTestFinished(() => keeper.close());
  copyFileSync(hosts.cert, files.cert);
  copyFileSync(hosts.key, files.key);
  keeper.attach(createServer());
  await expect.poll(() => log.lines.map(({ text }) => text)).toEqual(["the certificates were read again"]);
});
