import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startTunnel } from "../../scripts/chaos/tunnel.mjs";
import { App, hostOf } from "../../src/app/app.js";
import { MemoryBroker } from "../../src/engines/messaging/memory/memory-broker.js";
import { MemoryHub } from "../../src/engines/messaging/memory/memory-hub.js";
import { messagingState } from "../../src/engines/messaging/state.js";
import type { Job } from "../../src/patterns/jobs/feature.js";
import { saga } from "../../src/patterns/saga/definition.js";
import type { SagaHandle } from "../../src/patterns/saga/feature.js";
import { makeDatabase } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { quiet } from "./events/stores.js";
import { totals } from "./events/totals.js";

const server = service("postgres");
const patient = { timeout: 60_000, interval: 10 };
const item = (id: string = randomUUID()) => ({ type: "ItemAdded", data: { sku: "a", price: 1 }, id });

/** Over the wire: the server commits, and the connection breaks before the client has the response. */
describe.skipIf(!server)("commits whose response is lost", { timeout: 120_000 }, () => {
  let drop: () => Promise<void>;
  let tunnel: Awaited<ReturnType<typeof startTunnel>>;
  let app: App;
  let job: Job<string>;
  let handle: SagaHandle<unknown, unknown>;
  const hub = new MemoryHub();
  const ran: string[] = [];
  const handled: string[] = [];
  const seen: string[] = [];
  const sums = totals("lost_totals", {});
  beforeAll(async () => {
    const made = await makeDatabase(server!);
    drop = made.drop;
    const url = new URL(made.url);
    tunnel = await startTunnel(Number(url.port));
    url.port = String(tunnel.port);
    // The tunnel reads what it forwards.
    url.searchParams.set("sslmode", "disable");
    app = new App();
    app.logger = quiet;
    messagingState(hostOf(app)).replacement = () => new MemoryBroker({ hub });
    app
      .enableDatabase({ url: url.href, poolSize: 6 })
      .enableEventSourcing({ poll: "50ms", lease: "1s" })
      .enableSaga({ poll: "50ms", lease: "1s", backoff: "1ms", timeoutMs: 0 })
      .enableJobs({ poll: "50ms", lease: "1s" })
      .enableMemoryBroker()
      .enableOutbox({ poll: "50ms", lease: "1s" });
    job = app.job<string>("note", {}, (value) => ran.push(value));
    handle = app.saga(
      saga("lost")
        .step("first", { action: ({ key }) => ran.push(key) })
        .step("second", { action: ({ key }) => ran.push(key) }),
    ) as SagaHandle<unknown, unknown>;
    app.onMessage("orders", { inbox: true }, async (message) => {
      handled.push(message.value as string);
      await message.tx.execute("insert into effects values ($1)", [message.value]);
    });
    app.eventStore.project(sums);
    app.eventStore.subscribe({ name: "lost-ledger", categories: ["order"] }, ({ id }) => seen.push(id));
    await app.start();
    await app.database.script("create table effects (name text)");
  });
  afterAll(async () => {
    await app?.stop().catch(() => {});
    await tunnel?.close();
    await drop?.();
  });
  const swallow = (...texts: string[]) =>
    tunnel.swallow((chunk: Buffer) => texts.every((text) => chunk.includes(text)));

  it("An append that is repeated with its ids is stored once, alone or in a transaction", async () => {
    const alone = item();
    const swallowed = swallow(alone.id);
    await expect(app.eventStore.append("order-alone", alone)).rejects.toThrow();
    await swallowed;
    expect(await app.eventStore.append("order-alone", alone)).toMatchObject({ version: 1, known: true });
    let within = item();
    const append = () => app.database.transaction((tx) => app.eventStore.append("order-within", within, { tx }));
    const isLost = async () => {
      const commit = swallow("commit");
      const failed = await append().then(
        () => false,
        () => true,
      );
      await commit;
      return failed;
    };
    // The commit of a worker that looks for work can be the lost one.
    while (!(await isLost())) within = item();
    expect(await append()).toMatchObject({ known: true });
  });

  it("A subscription whose checkpoint was moved without its knowledge continues, and misses no event", async () => {
    const before = await app.eventStore.append("order-checkpoint", item());
    expect(await app.eventStore.waitFor("lost-ledger", before.position, { timeoutMs: 60_000 })).toBe(true);
    const next = item();
    const swallowed = swallow("lost-ledger", String(before.position + 1));
    const { position } = await app.eventStore.append("order-checkpoint", next);
    await swallowed;
    const last = item();
    await app.eventStore.append("order-checkpoint", last);
    await vi.waitFor(() => expect(seen).toContain(last.id), patient);
    expect(seen).toContain(next.id);
    expect(seen.indexOf(last.id)).toBeGreaterThan(seen.indexOf(next.id));
    expect(await app.eventStore.waitFor("lost-ledger", position, { timeoutMs: 60_000 })).toBe(true);
  });

  it("A batch of a projection that was committed without its knowledge is not handled again", async () => {
    const { position } = await app.eventStore.append("order-sum", item());
    expect(await app.eventStore.waitFor(sums, position, { timeoutMs: 60_000 })).toBe(true);
    const swallowed = swallow("commit");
    for (let n = 0; n < 3; n++) await app.eventStore.append("order-sum", item());
    await swallowed;
    const last = await app.eventStore.append("order-sum", item());
    expect(await app.eventStore.waitFor(sums, last.position, { timeoutMs: 60_000 })).toBe(true);
    const row = await app.database.fetchrow("select total, events from lost_totals where stream = 'order-sum'");
    expect(row).toEqual({ total: 5, events: 5 });
  });

  it("A saga continues after a transition that was made without the knowledge of its driver", async () => {
    const swallowed = swallow("action done", "lost-saga");
    const id = await handle.start(null, { id: "lost-saga" });
    await swallowed;
    expect(await handle.wait(id, { timeoutMs: 60_000 })).toMatchObject({ status: "completed" });
    const log = (await app.sagas.log(id)).filter(({ event }) => event === "action done").map(({ step }) => step);
    expect(log).toEqual(["first", "second"]);
    expect(ran.filter((key) => key === "lost-saga:first")).toHaveLength(1);
  });

  it("A job whose end was stored without the knowledge of its worker is not run again", async () => {
    // An id that nothing else on the wire contains: only the statement that ends the job has it as a whole parameter.
    const id = "987654321";
    await app.database.execute("select setval(pg_get_serial_sequence('stoa.jobs', 'id'), $1, false)", [id]);
    const swallowed = tunnel.swallow((chunk: Buffer) => chunk.includes(id) && !chunk.includes(`{${id}`));
    expect(await job.enqueue("once")).toBe(id);
    await swallowed;
    await vi.waitFor(async () => expect(await app.jobs.get(id)).toMatchObject({ status: "done" }), patient);
    expect(ran.filter((value) => value === "once")).toHaveLength(1);
  });

  it("A job with a key whose enqueue is repeated while it waits is there once", async () => {
    const swallowed = swallow("key of the job");
    const enqueue = () => job.enqueue("keyed", { key: "key of the job", delay: "1h" });
    await expect(enqueue()).rejects.toThrow();
    await swallowed;
    const id = await enqueue();
    expect((await app.jobs.list({ name: "note", status: "waiting" })).map((one) => one.id)).toEqual([id]);
  });

  it("A message of a transaction that is repeated has its effect once, if it has an id of its own", async () => {
    const swallowed = swallow("commit");
    const publish = () => app.database.transaction((tx) => tx.publish("orders", "paid", { id: "order-1-paid" }));
    await expect(publish()).rejects.toThrow();
    await swallowed;
    await publish();
    await vi.waitFor(
      () => expect(hub.records("orders").filter(({ id }) => id === "order-1-paid")).toHaveLength(2),
      patient,
    );
    await vi.waitFor(
      async () => expect(await app.database.fetch("select name from effects")).toEqual([{ name: "paid" }]),
      patient,
    );
    expect(handled.filter((name) => name === "paid")).toHaveLength(1);
  });

  it("A message that was marked as published without the knowledge of the relay is not published again", async () => {
    // The ids of published messages are the only list with a number in this statement.
    const swallowed = tunnel.swallow((chunk: Buffer) => /memory[^{}]*\{"?\d/s.test(chunk.toString("latin1")));
    await app.outbox.publish("orders", "marked", { id: "order-2" });
    await swallowed;
    await app.outbox.publish("orders", "after", { id: "order-3" });
    await vi.waitFor(() => expect(hub.records("orders").map(({ id }) => id)).toContain("order-3"), patient);
    expect(hub.records("orders").filter(({ id }) => id === "order-2")).toHaveLength(1);
  });
});
