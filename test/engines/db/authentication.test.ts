import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { DatabaseOptions } from "../../../src/engines/db/config.js";
import type { Database } from "../../../src/engines/db/database.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import * as loopback from "../../../src/engines/db/postgres/loopback.js";
import { service } from "../../support/service.js";
import { makeRole } from "./engines.js";

const server = service("postgres") ?? "";
const password = "hunter2 in clear text";

/** The servers of these tests are on this machine. The mock makes them look like servers elsewhere. */
vi.mock("../../../src/engines/db/postgres/loopback.js", { spy: true });

const opened: Database[] = [];

afterEach(async () => {
  vi.resetAllMocks();
  await Promise.all(opened.splice(0).map((database) => database.close()));
});

const open = async (options: Partial<DatabaseOptions>): Promise<Database> => {
  const db = await openDatabase({ connectTimeout: 10, ...options });
  opened.push(db);
  return db;
};

const failure = async (options: Partial<DatabaseOptions>): Promise<OperationalError> => {
  const error = await open(options).then(
    () => new Error("it did connect"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OperationalError);
  expect((error as Error).message).not.toContain(password);
  return error as OperationalError;
};

describe("isLoopback", () => {
  it.each(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])("%s is a loopback address", (address) => {
    expect(loopback.isLoopback(address)).toBe(true);
  });

  it.each(["10.0.0.1", "::ffff:10.0.0.1", "1127.0.0.1", "::2", "127.0.0.1.example", ""])(
    "%s is not a loopback address",
    (address) => {
      expect(loopback.isLoopback(address)).toBe(false);
    },
  );
});

const message = (type: string, ...parts: readonly (Buffer | number | string)[]): Buffer => {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === "string") return Buffer.from(`${part}\0`);
      if (typeof part !== "number") return part;
      const number = Buffer.alloc(4);
      number.writeInt32BE(part);
      return number;
    }),
  );
  const head = Buffer.from(`${type}0000`);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};

const authenticationOk = message("R", 0);
const clearText = message("R", 3);
const md5 = message("R", 5, Buffer.from("salt"));
const sasl = (...mechanisms: readonly string[]) => message("R", 10, ...mechanisms, Buffer.from([0]));
const ready = Buffer.concat([authenticationOk, message("K", 1, 2), message("Z", Buffer.from("I"))]);

/** A server without TLS that asks for what a test wishes, and keeps what the client sends. */
class FakeServer {
  /** Sent after the first message of the client. */
  question: Buffer = ready;
  /** Sent after each further one. */
  answers: ((received: string) => Buffer)[] = [];
  received = "";
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `postgres://ada@127.0.0.1:${port}/x`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    let started = false;
    socket.on("data", (chunk) => {
      if (chunk.length === 8) {
        socket.write("N");
      } else if (!started) {
        started = true;
        socket.write(this.question);
      } else {
        this.received += chunk.toString("latin1");
        const answer = this.answers.shift();
        if (answer !== undefined) socket.write(answer(chunk.toString("latin1")));
      }
    });
  }
}

describe("a server without TLS", () => {
  let fake: FakeServer;

  beforeEach(async () => {
    fake = new FakeServer();
    await fake.listen();
  });

  afterEach(async () => {
    await fake.close();
  });

  describe("a remote server", () => {
    beforeEach(() => {
      vi.mocked(loopback.isLoopback).mockReturnValue(false);
    });

    it.each(["prefer", "allow", "disable"] as const)(
      "A remote server without TLS does not get the password in clear text (sslmode %s)",
      async (sslmode) => {
        fake.question = clearText;
        fake.answers = [() => ready];
        const error = await failure({ url: fake.url, password, sslmode });
        expect(error.message).toContain("asks for the password in clear text, but the connection is not encrypted");
        expect(error.sqlstate).toBe("28000");
        expect(fake.received).toBe("");
      },
    );

    it("A remote server without TLS does not get the password in clear text even if requireAuth names it", async () => {
      fake.question = clearText;
      fake.answers = [() => ready];
      await failure({ url: fake.url, password, requireAuth: "password" });
      expect(fake.received).toBe("");
    });

    it("A remote server without TLS gets an MD5 hash of the password only if requireAuth names it", async () => {
      fake.question = md5;
      fake.answers = [() => ready];
      expect((await failure({ url: fake.url, password })).message).toContain("asks for an MD5 hash");
      expect(fake.received).toBe("");
      await open({ url: fake.url, password, requireAuth: "md5" });
      expect(fake.received).toMatch(/^p[\s\S]{4}md5[0-9a-f]{32}\0/);
    });
  });

  it("A server that asks for a password after the authentication does not get it", async () => {
    fake.answers = [() => clearText];
    const db = await open({ url: fake.url, password });
    await expect(db.fetchval("select 1")).rejects.toThrow("asks for authentication again");
    expect(fake.received).toContain("select 1");
    expect(fake.received).not.toContain(password);
  });

  it("A server on this machine gets the password in clear text without TLS", async () => {
    fake.question = clearText;
    fake.answers = [() => ready];
    await open({ url: fake.url, password });
    expect(fake.received).toContain(password);
  });

  it("A server that uses SCRAM must prove that it knows the password", async () => {
    fake.question = sasl("SCRAM-SHA-256");
    fake.answers = [
      (first) => message("R", 11, Buffer.from(`r=${/r=(.+)$/.exec(first)![1]}server,s=c2FsdA==,i=4096`)),
      () => ready,
    ];
    const error = await failure({ url: fake.url, password });
    expect(error.message).toContain("did not prove that it knows the password");
  });

  it("A server without TLS gets no flag for channel binding in SCRAM", async () => {
    fake.question = sasl("SCRAM-SHA-256");
    await failure({ url: fake.url, password, connectTimeout: 3 });
    expect(fake.received).toContain("n,,n=");
  });

  it.each([
    ["scram-sha-256", "none", ready, "asks for no authentication"],
    ["!none", "none", ready, "asks for no authentication"],
    ["scram-sha-256,none", "password", clearText, "asks for the password in clear text"],
    ["!password,!md5", "md5", md5, "asks for an MD5 hash of the password"],
    ["none", "scram-sha-256", sasl("SCRAM-SHA-256"), "asks for SCRAM"],
  ])("The setting requireAuth %s refuses a server that asks for %s", async (requireAuth, _, question, reason) => {
    fake.question = question;
    fake.answers = [() => ready];
    const error = await failure({ url: fake.url, password, requireAuth });
    expect(error.message).toContain(`${reason}, which requireAuth (${requireAuth}) does not allow`);
    expect(fake.received).toBe("");
  });

  it.each([
    ["none,password", ready],
    ["!password", ready],
    ["password", clearText],
  ])("The setting requireAuth %s accepts the server", async (requireAuth, question) => {
    fake.question = question;
    fake.answers = [() => ready];
    await open({ url: `${fake.url}?require_auth=${requireAuth}`, password });
  });
});

describe.skipIf(server === "")("a server with TLS and SCRAM", () => {
  let admin: Database;
  let folder: string;
  let data: string;
  const url = server === "" ? "" : server.replace("app@", "password@");
  const login = { password: "hunter2", sslmode: "require" } as const;
  const proxies: Server[] = [];
  const sockets = new Set<Socket>();

  beforeAll(async () => {
    admin = await openDatabase(server);
    await makeRole(admin, "password");
    data = String(await admin.fetchval("show data_directory"));
    folder = await mkdtemp(join(tmpdir(), "stoa-tls-"));
    const [key, request] = [join(folder, "other.key"), join(folder, "other.csr")];
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const run = promisify(execFile);
    // Signed by the certificate of the server, but for another name.
    await run("openssl", ["req", ...kind, "-keyout", key, "-out", request, "-subj", "/CN=other.example"]);
    const authority = ["-CA", join(data, "server.crt"), "-CAkey", join(data, "server.key"), "-CAcreateserial"];
    const target = ["-in", request, "-out", join(folder, "other.crt"), "-CAserial", join(folder, "serial")];
    await run("openssl", ["x509", "-req", "-days", "2", ...authority, ...target]);
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(proxies.splice(0).map((proxy) => new Promise((resolve) => proxy.close(resolve))));
  });

  afterAll(async () => {
    await admin?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const listen = async (serve: (socket: Socket, count: number) => void): Promise<string> => {
    let count = 0;
    const proxy = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      serve(socket, ++count);
    });
    proxies.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const through = new URL(url);
    through.hostname = "localhost";
    through.port = String((proxy.address() as AddressInfo).port);
    return through.href;
  };

  /** Takes a client's request for TLS and decrypts what follows, with a certificate that is not the server's. */
  const impersonate = async (socket: Socket): Promise<TLSSocket> => {
    await new Promise((resolve) => socket.once("data", resolve));
    const key = await readFile(join(folder, "other.key"));
    const cert = await readFile(join(folder, "other.crt"));
    socket.write("S");
    const secure = new TLSSocket(socket, { isServer: true, key, cert });
    secure.on("error", () => {});
    return secure;
  };

  const upstream = (): Socket => {
    const { hostname, port } = new URL(server);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    return socket;
  };

  it("A connection with TLS and SCRAM authenticates with channel binding", async () => {
    const db = await open({ url, ...login, channelBinding: "require", requireAuth: "scram-sha-256" });
    expect(await db.fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()")).toBe(true);
  });

  it("A connection with TLS authenticates without channel binding if that is disabled", async () => {
    const db = await open({ url, ...login, channelBinding: "disable" });
    expect(await db.fetchval("select 1")).toBe(1);
  });

  it("A required channel binding refuses a connection without TLS or without a password", async () => {
    const plain = await failure({ url, ...login, sslmode: "disable", channelBinding: "require" });
    expect(plain.message).toContain("channel binding needs TLS");
    const trusting = await failure({ url: server, sslmode: "require", channelBinding: "require" });
    expect(trusting.message).toContain("asks for no authentication, but channelBinding is 'require'");
  });

  it("Channel binding refuses a connection through a server in the middle", async () => {
    const through = await listen(async (socket) => {
      const client = await impersonate(socket);
      const raw = upstream();
      raw.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
      await new Promise((resolve) => raw.once("data", resolve));
      const real = connectTls({ socket: raw, rejectUnauthorized: false });
      real.on("error", () => {});
      client.pipe(real).pipe(client);
    });
    const error = await failure({ url: through, ...login });
    expect(error.message).toContain("channel binding");
    // Without the binding nothing is noticed.
    const db = await open({ url: through, ...login, channelBinding: "disable" });
    expect(await db.fetchval("select 1")).toBe(1);
  });

  it("A request to cancel is sent only to a server whose certificate passes the check of the session", async () => {
    let cancelled = "";
    let ended = false;
    const through = await listen(async (socket, count) => {
      if (count === 1) {
        const raw = upstream();
        socket.pipe(raw).pipe(socket);
        return;
      }
      socket.once("close", () => (ended = true));
      const secure = await impersonate(socket);
      secure.on("data", (chunk) => (cancelled += chunk.toString("hex")));
    });
    const db = await open({
      url: through,
      password: "hunter2",
      sslmode: "verify-full",
      sslrootcert: join(data, "server.crt"),
      poolSize: 1,
    });
    const call = db.fetchval("select pg_sleep(1.5)", [], { timeout: 0.05 });
    await expect(call).rejects.toMatchObject({ sqlstate: "57014" });
    await vi.waitFor(() => expect(ended).toBe(true), { timeout: 10_000 });
    expect(cancelled).toBe("");
  });
});
