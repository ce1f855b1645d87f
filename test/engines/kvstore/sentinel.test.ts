import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { App, KvStoreConfig } from "stoa";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { service } from "../../support/service.js";
import { cli, serverOfTest, startServer, temporaryFolder } from "./redis-servers.js";
import { testStore, until } from "./store.js";

/** A master, its replica, and a Sentinel that decides alone. */
async function startSentinel() {
  const folder = await temporaryFolder();
  const [master, replica, sentinel] = [await freePort(), await freePort(), await freePort()];
  const servers = [
    await startServer(master, folder.path, ["--dbfilename", "a.rdb"]),
    await startServer(replica, folder.path, ["--dbfilename", "b.rdb", "--replicaof", `127.0.0.1 ${master}`]),
  ];
  const lines = [
    `sentinel monitor shop 127.0.0.1 ${master} 1`,
    "sentinel down-after-milliseconds shop 500",
    "sentinel failover-timeout shop 3000",
    `port ${sentinel}`,
    "requirepass secret",
  ];
  const file = join(folder.path, "sentinel.conf");
  await writeFile(file, lines.join("\n"));
  servers.push(await startServer(sentinel, folder.path, [], [file, "--sentinel"]));
  onTestFinished(async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await folder.remove();
  });
  await until(async () => (await cli(replica, "info", "replication")).includes("master_link_status:up"));
  const replicas = async () => cli(sentinel, "-a", "secret", "--no-auth-warning", "sentinel", "replicas", "shop");
  await until(async () => (await replicas()).includes(String(replica)));
  return { options: { sentinels: [`127.0.0.1:${sentinel}`], master: "shop", sentinelPassword: "secret" }, servers };
}

it.skipIf(!service("redis"))(
  "Sentinels that know the master name it, and the one that takes its place",
  { timeout: 120_000 },
  async () => {
    const { options, servers } = await startSentinel();
    const start = (wrong: object) =>
      new App().enableKvstore({ ...options, ...wrong, connectTimeout: 1, required: true }).start();
    await expect(start({ master: "shopp" })).rejects.toThrow("shopp of the Sentinels 127.0.0.1:");
    await expect(start({ sentinelPassword: "wrong" })).rejects.toThrow("shop of the Sentinels 127.0.0.1:");
    const kv = await testStore({ ...options, prefix: "t:", commandTimeout: 1 });
    await kv.set("before", "1");
    expect(await cli(servers[0]!.port, "get", "t:before")).toBe("1\n");
    const seen: string[] = [];
    await kv.subscribe("news", (message) => void seen.push(message));
    await kv.publish("news", "old");
    await until(() => seen.length === 1);
    await until(async () => (await cli(servers[1]!.port, "get", "t:before")) === "1\n");
    await servers[0]!.kill();
    const works = (call: Promise<unknown>): Promise<boolean> =>
      call.then(
        () => true,
        () => false,
      );
    await until(() => works(kv.set("after", "2")));
    expect(await cli(servers[1]!.port, "get", "t:after")).toBe("2\n");
    expect(await kv.get("before")).toBe("1");
    await until(async () => {
      await works(kv.publish("news", "new"));
      return seen.includes("new");
    });
  },
);

/** A Sentinel that can keep its replies about the master back, and tell that there is another. */
async function fakeSentinel(master: number) {
  const text = (value: string): string => `$${value.length}\r\n${value}\r\n`;
  const subscribers = new Set<Socket>();
  const held: (() => void)[] = [];
  let isHolding = false;
  const handle = ([command, what]: readonly string[], socket: Socket): void => {
    const reply = (message: string) => void socket.write(message);
    const channel = text("+switch-master");
    if (command === "subscribe") {
      subscribers.add(socket);
      reply(`*3\r\n${text("subscribe")}${channel}:1\r\n`);
    } else if (command !== "sentinel") reply("+OK\r\n");
    else if (what !== "get-master-addr-by-name") reply("*0\r\n");
    else {
      const answer = () => reply(`*2\r\n${text("127.0.0.1")}${text(String(master))}`);
      if (isHolding) held.push(answer);
      else answer();
    }
  };
  const server = createServer((socket) => {
    socket.on("error", () => undefined).on("close", () => subscribers.delete(socket));
    socket.on("data", (chunk) => {
      for (const command of commandsIn(String(chunk))) handle(command, socket);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    subscribers,
    held,
    hold() {
      isHolding = true;
    },
    tell() {
      for (const socket of subscribers)
        socket.write(`*3\r\n${text("message")}${text("+switch-master")}${text("shop")}`);
    },
    reply() {
      isHolding = false;
      for (const answer of held.splice(0)) answer();
    },
  };
}

function* commandsIn(request: string): Generator<string[]> {
  const lines = request.split("\r\n");
  for (let at = 0; lines[at]?.startsWith("*"); ) {
    const count = Number(lines[at]!.slice(1));
    yield Array.from({ length: count }, (_, index) => lines[at + 2 + 2 * index]!);
    at += 1 + 2 * count;
  }
}

it.skipIf(!service("redis"))(
  "A connection is made again if a Sentinel tells of another master while it is asked for the master",
  { timeout: 60_000 },
  async () => {
    const server = await serverOfTest();
    const sentinel = await fakeSentinel(server.port);
    const kv = await testStore({ sentinels: [sentinel.address], master: "shop", poolSize: 1, commandTimeout: 1 });
    await kv.set("before", "1");
    await until(() => sentinel.subscribers.size > 0);
    sentinel.hold();
    await cli(server.port, "client", "kill", "type", "normal");
    await until(() => sentinel.held.length > 0);
    sentinel.tell();
    // The connections for messages are closed in the same turn in which the client gives up.
    await until(() => sentinel.subscribers.size === 0);
    sentinel.reply();
    await until(() =>
      kv.set("after", "2").then(
        () => true,
        () => false,
      ),
    );
  },
);

it("Options of Sentinels that have no effect are refused", () => {
  const sentinels = ["127.0.0.1:26379"];
  expect(() => new KvStoreConfig({ sentinels, clusterMode: true })).toThrow("cannot be used with clusterMode");
  expect(() => new KvStoreConfig({ master: "shop" })).toThrow("'master' in KvStoreConfig goes with sentinels only");
  expect(() => new KvStoreConfig({ sentinelPassword: "x" })).toThrow("'sentinelPassword' in KvStoreConfig goes with");
  expect(new KvStoreConfig({ sentinels }).address).toBe("mymaster of the Sentinels 127.0.0.1:26379");
});
