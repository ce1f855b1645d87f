import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { DatabaseConfig, type DatabaseOptions } from "../../../src/engines/db/config.js";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { connectClient } from "../../../src/engines/db/postgres/connect.js";
import { loadPg } from "../../../src/engines/db/postgres/pg-module.js";
import { service } from "../../support/service.js";

const server = service("postgres") ?? "";
const { hostname, port } = new URL(server || "postgres://localhost:5432");
const toServer = () => connect({ host: hostname, port: Number(port) });

describe.skipIf(server === "")("a stream to the database", () => {
  const opened: Database[] = [];
  const cleanups: (() => unknown)[] = [];

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
    for (const cleanup of cleanups.splice(0)) await cleanup();
  });

  const open = async (options: Partial<DatabaseOptions>): Promise<Database> => {
    const database = await openDatabase({
      url: server,
      sslmode: "disable",
      poolSize: 1,
      statementTimeout: 0,
      ...options,
    });
    opened.push(database);
    return database;
  };

  /** Starts a statement, aborts it, and resolves when the server runs it no more. */
  const cancelledOnServer = async (database: Database): Promise<void> => {
    const watcher = await open({});
    const marker = `stream ${Math.random()}`;
    const running = () =>
      watcher.fetchval("select count(*)::int from pg_stat_activity where query like $1", [`%${marker}%`]);
    const leaving = new AbortController();
    const slow = database.withSignal(leaving.signal).fetchval(`select pg_sleep(600) /* ${marker} */`);
    await vi.waitFor(async () => expect(await running()).toBe(1), 20_000);
    leaving.abort();
    await expect(slow).rejects.toThrow();
    expect(await database.fetchval("select 1")).toBe(1);
    await vi.waitFor(async () => expect(await running()).toBe(0), 20_000);
  };

  it("Is opened for each connection and each cancelled statement, with the host and the port", async () => {
    const asked: unknown[] = [];
    const database = await open({
      stream: (target) => {
        asked.push(target);
        return toServer();
      },
    });
    expect(await database.fetchval("select 40 + 2")).toBe(42);
    await cancelledOnServer(database);
    expect(asked).toEqual([
      { host: hostname, port: Number(port) },
      { host: hostname, port: Number(port) },
    ]);
  });

  it("Can be any duplex stream, open or not, that comes later", async () => {
    const database = await open({
      stream: async () => {
        const socket = toServer();
        await new Promise((resolve) => socket.once("connect", resolve));
        return Duplex.from({ readable: socket, writable: socket });
      },
    });
    expect(await database.fetchval("select repeat('x', 1000000)")).toHaveLength(1_000_000);
    await cancelledOnServer(database);
  });

  it("A function that fails, returns no stream or never does is an error that says so", async () => {
    const refused = (stream: unknown) => open({ stream: stream as never, connectTimeout: "300ms" });
    await expect(refused(() => Promise.reject(new Error("no tunnel")))).rejects.toThrow(/cannot connect .*: no tunnel/);
    await expect(refused(() => 5)).rejects.toThrow(/the function for the stream returned 5, not a duplex stream/);
    await expect(refused(() => new Promise(() => {}))).rejects.toThrow(/the function for the stream took too long/);
    await expect(refused(() => toServer().destroy())).rejects.toThrow(/returned one that is closed/);
    await expect(refused("tunnel")).rejects.toThrow(/option 'stream' in DatabaseConfig must be a function/);
  });

  it("A stream that comes too late is closed", async () => {
    const late: Socket[] = [];
    await expect(
      open({
        connectTimeout: "200ms",
        stream: async () => {
          await new Promise((resolve) => setTimeout(resolve, 600));
          const socket = toServer();
          late.push(socket);
          return socket;
        },
      }),
    ).rejects.toThrow(/took too long/);
    await vi.waitFor(() => expect(late.length > 0 && late.every(({ destroyed }) => destroyed)).toBe(true), 20_000);
  });

  it("A connection that the other machine does not take has its own limit", async () => {
    const nowhere = Object.assign(new Duplex({ read() {}, write() {} }), { connecting: true });
    const config = new DatabaseConfig({ url: server, stream: () => nowhere });
    const target = { config, host: config.hosts[0]!, attempts: [false as const], password: undefined };
    await expect(connectClient(await loadPg(), target, 3_600_000, 100)).rejects.toThrow("no answer in time");
    expect(nowhere.destroyed).toBe(true);
  });

  it("A statement over a Unix socket is cancelled too", async () => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-unix-"));
    const listener = createServer((socket) =>
      socket
        .pipe(toServer())
        .pipe(socket)
        .on("error", () => {}),
    );
    await new Promise<void>((resolve) => listener.listen(join(folder, ".s.PGSQL.5432"), resolve));
    cleanups.push(
      () => listener.close(),
      () => rm(folder, { recursive: true }),
    );
    const { username, password, pathname } = new URL(server);
    const database = await open({
      url: undefined as never,
      host: folder,
      port: 5432,
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: pathname.slice(1),
    });
    await cancelledOnServer(database);
  });
});

describe("a stream without a server", () => {
  /** Responds to what is written, and fails when it is closed, as a tunnel does whose other end is gone. */
  class Tunnel extends Duplex {
    heardOf: boolean | null = null;

    constructor(readonly respond: (tunnel: Tunnel) => void = () => {}) {
      super();
    }

    override _read(): void {}

    override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
      this.respond(this);
      done();
    }

    override _destroy(_error: Error | null, done: (error: Error) => void): void {
      process.nextTick(() => {
        this.heardOf = this.listenerCount("error") > 0;
        done(new Error("the tunnel is gone"));
      });
    }
  }

  const connecting = async (stream: () => Duplex | Promise<Duplex>, timeout: number) => {
    const config = new DatabaseConfig({ url: "postgres://user:secret@server/shop", stream });
    const target = { config, host: config.hosts[0]!, attempts: [false as const], password: undefined };
    return connectClient(await loadPg(), target, timeout);
  };

  it("Is heard when it fails, whenever that is: without a listener its error would end the process", async () => {
    const [late, closed, silent] = [new Tunnel(), new Tunnel(), new Tunnel()];
    let arrive: (stream: Duplex) => void = () => {};
    const arriving = new Promise<Duplex>((resolve) => (arrive = resolve));
    await expect(connecting(() => arriving, 1)).rejects.toThrow("took too long");
    arrive(late);
    await expect(connecting(() => closed.destroy(), 60_000)).rejects.toThrow("one that is closed");
    await expect(connecting(() => silent, 1)).rejects.toThrow("cannot connect");
    const heardOf = () => [late, closed, silent].map((tunnel) => tunnel.heardOf);
    await vi.waitFor(() => expect(heardOf()).toEqual([true, true, true]), 20_000);
  });

  it("A connection ends when the server closes its side, as that of a socket does", async () => {
    const tunnel = new Tunnel((each) => each.push(null));
    const connected = connecting(() => tunnel, 3_600_000).catch(String);
    await vi.waitFor(() => expect(tunnel.destroyed).toBe(true), 20_000);
    expect(await connected).toContain("cannot connect");
  });
});
