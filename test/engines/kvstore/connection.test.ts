import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { KvStoreError, openKvStore } from "stoa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { blockFor } from "../../support/block-for.js";
import { service } from "../../support/service.js";
import { certificates, cli, type RedisServer, startServer, temporaryFolder } from "./redis-servers.js";
import { redisUrl, testStore, until } from "./store.js";

/** The error of a promise that must reject. */
async function errorOf(promise: Promise<unknown>): Promise<KvStoreError> {
  const error = await promise.then(
    () => new Error("it did not reject"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(KvStoreError);
  return error as KvStoreError;
}

/** A server of our own that replies with what it likes. */
async function fakeServer(onData: (socket: Socket, chunk: Buffer) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => onData(socket, chunk));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe("the start without a server", () => {
  it("A start without a server fails within the time with one error that names address and cause", async () => {
    const port = await freePort();
    const error = await errorOf(openKvStore({ url: `redis://127.0.0.1:${port}`, connectTimeout: 0.3 }));
    expect(error.code).toBe("UNREACHABLE");
    expect(error.message).toContain(`127.0.0.1:${port} is unreachable: connect ECONNREFUSED`);
  });

  it("A start without a cluster fails with an error that names the cause", async () => {
    const port = await freePort();
    const options = { url: `redis://127.0.0.1:${port}`, clusterMode: true, connectTimeout: 0.5 };
    const error = await errorOf(openKvStore(options));
    expect(error.message).toContain("ECONNREFUSED");
  });

  it("A start with a server that accepts connections and never replies fails", async () => {
    const url = await fakeServer(() => undefined);
    const error = await errorOf(openKvStore({ url, connectTimeout: 0.4, commandTimeout: 0.1 }));
    expect(error.code).toBe("UNREACHABLE");
  });

  it.each(["HTTP/1.1 400 Bad Request\r\n\r\n", "$-5\r\n", "*9999999999\r\n", "%1\r\n", "\0\0\0"])(
    "A start with a server that speaks another protocol fails: %j",
    async (reply) => {
      const url = await fakeServer((socket) => void socket.write(reply));
      const error = await errorOf(openKvStore({ url, connectTimeout: 0.4, commandTimeout: 0.1 }));
      expect(error.code).toBe("UNREACHABLE");
    },
  );
});

describe.skipIf(!service("redis"))("connections of the key-value store", () => {
  it("The start waits for a server that is just starting", async () => {
    const folder = await temporaryFolder();
    const port = await freePort();
    const opening = openKvStore({ url: `redis://127.0.0.1:${port}`, connectTimeout: 30 });
    const server = await startServer(port, folder.path);
    const kv = await opening;
    await kv.ping();
    await kv.close();
    await server.kill();
    await folder.remove();
  });

  it("A subscriber is told of a gap before it gets a message from after it", async () => {
    const { port } = new URL(redisUrl);
    const upstreams = new Map<Socket, Socket>();
    const held: (() => void)[] = [];
    let isHeld = false;
    const url = await fakeServer((socket, chunk) => {
      let upstream = upstreams.get(socket);
      if (upstream === undefined) {
        upstream = connect(Number(port), "127.0.0.1").on("error", () => undefined);
        upstreams.set(socket, upstream);
        upstream.on("data", (reply) => socket.write(reply));
        socket.on("close", () => upstreams.get(socket)?.destroy());
      }
      if (isHeld && chunk.includes("subscribe") && chunk.includes("second")) held.push(() => upstream.write(chunk));
      else upstream.write(chunk);
    });
    const kv = await openKvStore({ url, prefix: "gap:" });
    const publisher = await openKvStore({ url: redisUrl, prefix: "gap:" });
    onTestFinished(() => Promise.all([kv.close(), publisher.close()]).then(() => {}));
    const events: string[] = [];
    await kv.subscribe("first", (message) => events.push(message), { onGap: () => events.push("gap") });
    await kv.subscribe("second", () => undefined);
    isHeld = true;
    for (const socket of upstreams.keys()) socket.destroy();
    // The connection is there again with one of its two channels.
    await until(() => held.length > 0);
    await until(async () => (await publisher.publish("first", "between")) > 0);
    isHeld = false;
    for (const release of held) release();
    await until(() => events.includes("gap"));
    await publisher.publish("first", "after");
    await until(() => events.includes("after"));
    expect(events[0]).toBe("gap");
  });

  it("A database number that the server does not have is refused, and no other database is used", async () => {
    const error = await errorOf(openKvStore({ url: redisUrl, database: 99 }));
    expect(error.message).toContain("DB index is out of range");
  });

  it("The configured database number is used", async () => {
    const one = await testStore({ database: 1, prefix: "" });
    const two = await testStore({ database: 2, prefix: "" });
    await one.set("only", "1");
    expect(await two.get("only")).toBeNull();
  });

  it("A cluster configuration for a server that is no cluster fails with an error that says so", async () => {
    const error = await errorOf(openKvStore({ url: redisUrl, clusterMode: true, connectTimeout: 2 }));
    expect(error.message).toContain("cluster support disabled");
  });

  it("A closed store refuses calls", async () => {
    const kv = await openKvStore(redisUrl);
    await kv.close();
    expect((await errorOf(kv.get("a"))).code).toBe("CLOSED");
    expect((await errorOf(kv.subscribe("a", () => undefined))).code).toBe("CLOSED");
    expect((await errorOf(kv.list("a").waitShift(1))).code).toBe("CLOSED");
  });

  describe("a server that dies", () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>;
    let port: number;
    let server: RedisServer;
    beforeAll(async () => {
      folder = await temporaryFolder();
      port = await freePort();
      server = await startServer(port, folder.path);
    });
    afterAll(async () => {
      await server.kill();
      await folder.remove();
    });

    it("Calls fail at once while the server is away, name the cause, and work again after its return", async () => {
      const kv = await openKvStore({ url: `redis://127.0.0.1:${port}` });
      onTestFinished(() => kv.close());
      await kv.set("a", "1");
      const messages: string[] = [];
      const subscription = await kv.subscribe("news", (message) => messages.push(message));
      await server.kill();
      await until(async () => (await errorOf(kv.get("a"))).message.includes("ECONNREFUSED"));
      server = await startServer(port, folder.path);
      await until(() =>
        kv.set("a", "2").then(
          () => true,
          () => false,
        ),
      );
      expect(await kv.get("a")).toBe("2");
      await until(async () => {
        await kv.publish("news", "again").catch(() => undefined);
        return messages.includes("again");
      });
      await subscription.close();
    });

    it("The connection to a server that has become a replica is replaced", async () => {
      const kv = await openKvStore({ url: `redis://127.0.0.1:${port}`, poolSize: 1 });
      onTestFinished(() => kv.close());
      const before = await kv.client.call("CLIENT", "ID");
      await cli(port, "replicaof", "127.0.0.1", String(await freePort()));
      try {
        expect(await errorOf(kv.set("a", "1"))).toMatchObject({ code: "REFUSED", reply: "READONLY" });
        await until(() =>
          kv.client.call("CLIENT", "ID").then(
            (id) => id !== before,
            () => false,
          ),
        );
      } finally {
        await cli(port, "replicaof", "no", "one");
      }
      await until(() =>
        kv.set("a", "1").then(
          () => true,
          () => false,
        ),
      );
    });

    it("Subscribers are told that messages may be lost", async () => {
      const kv = await openKvStore({ url: `redis://127.0.0.1:${port}` });
      onTestFinished(() => kv.close());
      let gaps = 0;
      await kv.subscribe("news", () => undefined, { onGap: () => gaps++ });
      await server.kill();
      server = await startServer(port, folder.path);
      await until(() => gaps > 0);
    });

    it("Calls to a paused server fail within the time limit, then at once, and work again afterwards", async () => {
      const kv = await openKvStore({ url: `redis://127.0.0.1:${port}`, commandTimeout: 0.3, connectTimeout: 2 });
      onTestFinished(() => kv.close());
      // A busy machine may take longer than the short time of this store.
      await until(() =>
        kv.set("a", "1").then(
          () => true,
          () => false,
        ),
      );
      process.kill(server.pid, "SIGSTOP");
      try {
        expect((await errorOf(kv.get("a"))).code).toBe("TIMEOUT");
        await until(async () => (await errorOf(kv.get("a"))).code === "UNREACHABLE");
      } finally {
        process.kill(server.pid, "SIGCONT");
      }
      await until(() =>
        kv.get("a").then(
          (value) => value === "1",
          () => false,
        ),
      );
    });
  });

  it.each([
    "$9999999999999\r\n",
    "?what\r\n",
    ":1\r\n:2\r\n:3\r\n",
    "-ERR \0\r\n",
    "*1\r\n*1\r\n*-7\r\n",
    "$-1\r\n$-1\r\n$-1\r\n",
    ">1\r\n$-1\r\n",
  ])("A server that breaks off into %j fails some calls at most, and later calls work", async (garbage) => {
    const { port } = new URL(redisUrl);
    let breaks = false;
    const proxy = createServer((client) => {
      const server = connect(Number(port), "127.0.0.1");
      for (const socket of [client, server]) {
        socket
          .on("error", () => undefined)
          .on("close", () => {
            client.destroy();
            server.destroy();
          });
      }
      client.on("data", (chunk) => server.write(chunk));
      server.on("data", (chunk) => client.write(breaks ? garbage : chunk));
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `redis://127.0.0.1:${(proxy.address() as { port: number }).port}`;
    const kv = await openKvStore({ url, commandTimeout: 0.4, connectTimeout: 2 });
    onTestFinished(async () => {
      await kv.close();
      proxy.close();
    });
    breaks = true;
    await Promise.allSettled([
      kv.get("a"),
      kv.hash("a").all(),
      kv.stream("a").read(),
      kv.pipeline((p) => [p.get("a")]),
    ]);
    await Promise.allSettled([kv.transaction((t) => [t.get("a"), t.get("b")]), kv.list("a").waitShift(0.05)]);
    breaks = false;
    await until(() =>
      kv.eval<string>("return 'sound'").then(
        (reply) => reply === "sound",
        () => false,
      ),
    );
  });

  it("A reply that arrived while the event loop was blocked counts, although the time of the call is over", async () => {
    const kv = await testStore({ poolSize: 1, commandTimeout: 1 });
    // Sent at once, unlike other calls, which wait for the next turn.
    const underWay = kv.pipeline((calls) => [calls.incr("a")]);
    const notYetSent = kv.incr("b");
    // Longer than any time limit of the connection.
    blockFor(3000);
    expect(await Promise.all([underWay, notYetSent])).toEqual([[1], 1]);
  });

  it("A call is not sent twice if its connection breaks before the reply", async () => {
    const { port } = new URL(redisUrl);
    const key = `once:${Math.random()}`;
    let breaks = true;
    const proxy = createServer((client) => {
      const server = connect(Number(port), "127.0.0.1");
      for (const socket of [client, server]) socket.on("error", () => undefined).on("close", () => server.destroy());
      client.on("data", (chunk) => {
        server.write(chunk);
        if (!breaks || !chunk.includes(key)) return;
        breaks = false;
        server.removeAllListeners("data");
        server.once("data", () => client.destroy());
      });
      server.on("data", (chunk) => client.write(chunk));
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const kv = await openKvStore({
      url: `redis://127.0.0.1:${(proxy.address() as { port: number }).port}`,
      poolSize: 1,
    });
    onTestFinished(async () => {
      await kv.delete(key);
      await kv.close();
      proxy.close();
    });
    expect((await errorOf(kv.incr(key))).code).toBe("UNREACHABLE");
    expect(await kv.get(key)).toBe("1");
  });

  it("A message handler that throws does not stop the other handlers or the process", async () => {
    const logged: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => logged.push(message) };
    const kv = await openKvStore(redisUrl, { logger: { ...logger, child: () => logger } as never });
    onTestFinished(() => kv.close());
    const channel = `c:${Math.random()}`;
    await kv.subscribe(channel, () => {
      throw new Error("broken");
    });
    await kv.subscribe(channel, async () => {
      throw new Error("broken later");
    });
    expect(await kv.publish(channel, "x")).toBe(1);
    await until(() => logged.length === 2);
  });

  it("Messages of channels and patterns are delivered without the prefix", async () => {
    const kv = await testStore();
    const got: string[] = [];
    const one = await kv.subscribe("news:a", (message, channel) => got.push(`${channel}=${message}`));
    const two = await kv.subscribe("news:a", () => got.push("second"));
    const all = await kv.subscribePattern("news:*", (message, channel) => got.push(`pattern ${channel}=${message}`));
    await kv.publish("news:a", "1");
    await until(() => got.length === 3);
    expect(got.sort()).toEqual(["news:a=1", "pattern news:a=1", "second"]);
    await two.close();
    await all.close();
    got.length = 0;
    await kv.publish("news:a", "2");
    await until(() => got.includes("news:a=2"));
    expect(got).toEqual(["news:a=2"]);
    await one.close();
    expect(await kv.publish("news:a", "3")).toBe(0);
    await expect(kv.subscribe("x", 1 as never)).rejects.toThrow("takes a function");
  });

  it("A wait for a value has its own connection, and ends with its time or its signal", async () => {
    const kv = await testStore({ poolSize: 1 });
    const waiting = kv.list("queue").waitShift(30);
    await until(() => kv.stats().blocking === 1);
    await kv.list("queue").push("job");
    expect(await waiting).toBe("job");
    expect(await kv.list("queue").waitPop(0.01)).toBeNull();
    expect(await kv.stream("s").read({ after: "$", block: 0.01 })).toEqual([]);

    const controller = new AbortController();
    const aborted = kv.list("queue").waitShift(30, { signal: controller.signal });
    aborted.catch(() => undefined);
    await until(() => kv.stats().blocking >= 1);
    controller.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
  });

  it("A read of a stream can wait for new entries", async () => {
    const kv = await testStore();
    const reading = kv.stream("s").read({ after: "0-0", block: 30 });
    const id = await kv.stream("s").add({ a: "1" });
    expect(await reading).toEqual([{ id, fields: { a: "1" } }]);
  });
});

describe.skipIf(!service("redis"))("TLS and users", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let server: RedisServer;
  let ca: string;
  let port: number;
  beforeAll(async () => {
    folder = await temporaryFolder();
    const files = await certificates(folder.path);
    ca = await readFile(files.ca, "utf8");
    const users = "user default off\nuser app on >s3cret ~app:* &* +@all -@dangerous +info\n";
    await writeFile(join(folder.path, "users.acl"), users);
    port = await freePort();
    const tls = ["--tls-port", String(port), "--tls-cert-file", files.cert, "--tls-key-file", files.key];
    const more = [
      "--tls-ca-cert-file",
      files.ca,
      "--tls-auth-clients",
      "no",
      "--aclfile",
      join(folder.path, "users.acl"),
    ];
    server = await startServer(port, folder.path, [...tls, ...more]);
  });
  afterAll(async () => {
    await server?.kill();
    await folder.remove();
  });
  const url = (): string => `rediss://localhost:${port}`;

  it("A connection with the authority's certificate, a user name and a password is accepted", async () => {
    const kv = await openKvStore({ url: url(), tls: { ca }, username: "app", password: "s3cret", prefix: "app:" });
    onTestFinished(() => kv.close());
    await kv.set("a", "1");
    expect(await kv.get("a")).toBe("1");
    expect(await kv.lock("l", () => "held")).toBe("held");
    await expect(kv.client.call("GET", "other")).rejects.toThrow("NOPERM");
  });

  it("A wrong password is reported at once, without showing it", async () => {
    const error = await errorOf(
      openKvStore({ url: url(), tls: { ca }, username: "app", password: "guess-it", connectTimeout: 60 }),
    );
    expect(error.message).toContain("WRONGPASS");
    const { inspect } = await import("node:util");
    expect(inspect(error, { depth: 9 })).not.toContain("guess-it");
  });

  it("A missing password is reported as needed", async () => {
    const error = await errorOf(openKvStore({ url: url(), tls: { ca }, connectTimeout: 60 }));
    expect(error.message).toContain("NOAUTH");
  });

  it("A certificate that is not trusted is reported", async () => {
    const error = await errorOf(openKvStore({ url: url(), username: "app", password: "s3cret", connectTimeout: 60 }));
    expect(error.message).toMatch(/certificate/);
  });

  it("A certificate of another name is reported", async () => {
    const options = { url: `rediss://127.0.0.1:${port}`, tls: { ca }, username: "app", password: "s3cret" };
    const error = await errorOf(openKvStore({ ...options, connectTimeout: 60 }));
    expect(error.message).toMatch(/altnames|IP/);
    const kv = await openKvStore({ ...options, tls: { ca, servername: "localhost" } });
    await kv.close();
  });

  it("A certificate of the client is shown to a server that asks for one", async () => {
    const other = await temporaryFolder();
    const files = await certificates(other.path);
    const at = await freePort();
    const needed = ["--tls-ca-cert-file", files.ca, "--tls-auth-clients", "yes"];
    const strict = await startServer(at, other.path, [
      ...["--tls-port", String(at), "--tls-cert-file", files.cert, "--tls-key-file", files.key],
      ...needed,
    ]);
    onTestFinished(async () => {
      await strict.kill();
      await other.remove();
    });
    const [authority, cert, key] = await Promise.all(
      [files.ca, files.cert, files.key].map((file) => readFile(file, "utf8")),
    );
    const kv = await openKvStore({ url: `rediss://localhost:${at}`, tls: { ca: authority!, cert: cert!, key: key! } });
    onTestFinished(() => kv.close());
    await kv.set("a", "1");
    expect(await kv.get("a")).toBe("1");
    const without = { url: `rediss://localhost:${at}`, tls: { ca: authority! }, connectTimeout: 1 };
    await expect(openKvStore(without)).rejects.toThrow();
  });

  it("Any certificate of a server is accepted where it is not to be checked", async () => {
    const login = { username: "app", password: "s3cret", prefix: "app:" };
    const kv = await openKvStore({ url: url(), tls: { rejectUnauthorized: false }, ...login });
    onTestFinished(() => kv.close());
    await kv.set("unchecked", "1");
    expect(await kv.get("unchecked")).toBe("1");
  });

  it("A plain connection to a server with TLS fails", async () => {
    const error = await errorOf(openKvStore({ url: `redis://localhost:${port}`, connectTimeout: 0.5 }));
    expect(error.code).toBe("UNREACHABLE");
  });
});
