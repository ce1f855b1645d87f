import { App, type KvStore, openKvStore } from "stoa";

/** The code of docs/kvstore.md, which a test compares with the page and runs. */

export function counterApp(): App {
  const app = new App();
  app.enableKvstore({ url: "redis://127.0.0.1:6379", prefix: "shop:" });

  app.get("/visits", async (request) => ({ visits: await request.kv.incr("visits") }));
  return app;
}

export function sharingApp(): App {
  const app = new App();
  app.enableKvstore({ url: "redis://127.0.0.1:6379" });
  app.enableRateLimit({ maxRequests: 100, windowSecs: 60 });
  app.enableCaching({ ttl: 60 });
  app.enableSessions();
  return app;
}

export async function values(kv: KvStore): Promise<unknown[]> {
  await kv.set("name", "Ada", { ttl: 60 });
  const name = await kv.get("name"); // "Ada", or null
  await kv.setIfAbsent("owner", "worker-1", { ttl: 30 }); // true if it was not there
  await kv.setJson("user:1", { name: "Ada", born: 1815 });
  const user = await kv.getJson<{ name: string; born: number }>("user:1");
  await kv.incr("visits");
  await kv.mset({ a: "1", b: "2" });
  const values = await kv.mget(["a", "b", "c"]); // ["1", "2", null]
  await kv.expire("a", 10);
  const left = await kv.ttl("a"); // seconds; Infinity without an end, null without a key
  await kv.delete("a", "b");
  return [name, user?.born, values, Math.ceil(left ?? 0), await kv.has("a")];
}

export async function structures(kv: KvStore): Promise<unknown[]> {
  await kv.hash("profile:1").set({ name: "Ada", visits: 0 });
  await kv.hash("profile:1").incr("visits");
  const fields = await kv.hash("profile:1").all();

  await kv.list("jobs").push("first", "second");
  const job = await kv.list("jobs").waitShift(5); // waits up to 5 seconds for a value

  await kv.setOf("tags").add("red", "green");
  const tags = await kv.setOf("tags").values();

  await kv.sortedSet("scores").add({ ada: 120, bob: 80 });
  const best = await kv.sortedSet("scores").range({ reverse: true, stop: 9 }); // [{ member, score }, ...]
  return [fields, job, tags.sort(), best];
}

export async function streams(kv: KvStore, console: { log(text: unknown): void }): Promise<void> {
  await kv.stream("orders").add({ id: 7, kind: "paid" }, { maxLength: 100_000 });

  const mailer = kv.stream("orders").group("mailers", "worker-1");
  await mailer.create();
  for (const { id, fields } of await mailer.read({ count: 10, block: 5 })) {
    console.log(fields["kind"]);
    await mailer.ack(id);
  }
}

export async function batches(kv: KvStore): Promise<unknown[]> {
  const [title, count] = await kv.pipeline((p) => [p.get("title"), p.incr("count")]);
  const [, stock] = await kv.transaction((t) => [t.list("sold").push("emma"), t.decr("stock")]);
  return [title, count, stock];
}

export async function scripts(kv: KvStore): Promise<number> {
  const take = kv.script<number>(`
  local left = tonumber(redis.call('GET', KEYS[1]) or '0')
  if left < tonumber(ARGV[1]) then return 0 end
  return redis.call('DECRBY', KEYS[1], ARGV[1]) + 1
`);
  const taken = await take.run(["stock"], [1]);
  return taken;
}

export async function locks(kv: KvStore, importAll: (how: object) => Promise<void>): Promise<void> {
  await kv.lock("import", { ttl: 10, wait: 5 }, async (lock) => {
    await importAll({ signal: lock.signal, fence: lock.token });
  });
}

export async function messages(kv: KvStore, console: { log(...texts: unknown[]): void }): Promise<void> {
  const subscription = await kv.subscribe("news", (message, channel) => console.log(channel, message), {
    onGap: () => console.log("messages may be lost"),
  });
  await kv.publish("news", "hello");
  await subscription.close();
}

export async function keys(kv: KvStore, console: { log(text: unknown): void }): Promise<string> {
  for await (const key of kv.scan({ match: "user:*" })) console.log(key);
  const memory = await kv.client.call("INFO", "memory");
  return String(memory);
}

export async function clusters(): Promise<KvStore> {
  const kv = await openKvStore({ url: "redis://10.0.0.1:6379", clusterMode: true, nodes: ["10.0.0.2:6379"] });
  return kv;
}

export async function sentinels(): Promise<KvStore> {
  const kv = await openKvStore({ sentinels: ["10.0.0.1:26379", "10.0.0.2:26379"], master: "shop" });
  return kv;
}
