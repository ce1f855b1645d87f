import { App } from "stoa";
import { type Claim, MemoryBroker, MemoryProcessedStore, openMessaging, type ProcessedStore } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { KvProcessedStore } from "../../../src/engines/kvstore/stores/share-stores.js";
import { service } from "../../support/service.js";
import { redisUrl, testStore } from "../kvstore/store.js";
import { silent, until } from "./harness.js";

const stores: [name: string, skip: boolean, make: () => Promise<ProcessedStore>][] = [
  ["memory", false, async () => new MemoryProcessedStore()],
  ["the key-value store", !service("redis"), async () => new KvProcessedStore(await testStore())],
];

describe.each(stores)("ids of handled messages in %s", (_name, skip, make) => {
  it.skipIf(skip)("The id of a message belongs to one handler at a time, and is done once", async () => {
    const store = await make();
    const claim = (await store.begin("a", 60_000)) as Claim;
    expect(await store.begin("a", 60_000)).toBe("busy");
    expect(await store.begin("b", 60_000)).toMatchObject({});
    expect(await claim.renew(60_000)).toBe(true);
    expect(await claim.done(60_000)).toBe(true);
    expect(await store.begin("a", 60_000)).toBe("done");
  });

  it.skipIf(skip)("The id of a message can be claimed again after it was released", async () => {
    const store = await make();
    const claim = (await store.begin("a", 60_000)) as Claim;
    expect(await claim.release()).toBe(true);
    expect(await store.begin("a", 60_000)).toMatchObject({ done: expect.any(Function) });
  });

  it.skipIf(skip)("A handler whose lease has ended cannot change an id that another has taken over", async () => {
    const store = await make();
    const late = (await store.begin("a", 1)) as Claim;
    let second: Claim | "done" | "busy" = "busy";
    await until(async () => (second = await store.begin("a", 60_000)) !== "busy");
    expect(await late.done(60_000)).toBe(false);
    expect(await late.release()).toBe(false);
    expect(await late.renew(60_000)).toBe(false);
    expect(await (second as unknown as Claim).done(60_000)).toBe(true);
  });
});

it("The store of handled messages in memory is bounded and forgets the oldest ids", async () => {
  const store = new MemoryProcessedStore(3);
  for (const id of ["a", "b", "c", "d"]) await ((await store.begin(id, 60_000)) as Claim).done(60_000);
  expect(store.size).toBe(3);
  expect(await store.begin("d", 1)).toBe("done");
  expect(await store.begin("a", 1)).not.toBe("done");
});

it.skipIf(!service("redis"))("Applications with a key-value store share the ids of handled messages", async () => {
  const prefix = `test:${Math.random()}:`;
  const handled: string[] = [];
  const apps = ["one", "two"].map((name) => {
    const app = new App();
    app.logger = silent();
    app.enableMemoryBroker().enableKvstore({ url: redisUrl, prefix });
    app.onMessage("a", { idempotent: { keep: 60 } }, (message) => {
      handled.push(`${name}:${message.value}`);
    });
    return app;
  });
  for (const app of apps) await app.start();
  await apps[0]!.publish("a", 1, { id: "same" });
  await until(() => handled.length === 1);
  await apps[1]!.publish("a", 1, { id: "same" });
  await apps[1]!.publish("a", 2, { id: "other" });
  await until(() => handled.length === 2);
  expect(handled).toEqual(["one:1", "two:2"]);
  for (const app of apps) await app.stop();
});

it("A consumer keeps the ids of handled messages in the store that it names, else in that of its client", async () => {
  const [shared, own] = [new MemoryProcessedStore(), new MemoryProcessedStore()];
  const client = await openMessaging(new MemoryBroker(), { logger: silent(), processed: shared });
  const handled: unknown[] = [];
  const handler = ({ value }: { readonly value: unknown }) => void handled.push(value);
  await client.subscribe("usual", { idempotent: true }, handler);
  await client.subscribe("named", { idempotent: { store: own } }, handler);
  await client.publish("usual", 1, { id: "same" });
  await client.publish("usual", 2, { id: "same" });
  await client.publish("usual", 3, { id: "other" });
  await client.publish("named", 4);
  await until(() => handled.length === 3 && shared.size === 2 && own.size === 1);
  expect(handled.toSorted()).toEqual([1, 3, 4]);
  await client.close();
});
