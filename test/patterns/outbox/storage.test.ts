import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { installTables } from "../../../src/durable/tables.js";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { OutboxStorage } from "../../../src/patterns/outbox/storage.js";
import { outboxTables } from "../../../src/patterns/outbox/tables.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";

describe.each(engines(service("postgres")))("the lease of the outbox in $name", (engine) => {
  let db: Database;
  let drop: () => Promise<void>;
  let storage: OutboxStorage;
  beforeAll(async () => {
    const place = await engine.make();
    drop = place.drop;
    db = await openDatabase(place.url);
    await installTables(db, "stoa", outboxTables);
    storage = new OutboxStorage(db, "stoa");
  });
  afterAll(async () => {
    await db.close();
    await drop();
  });
  beforeEach(() => db.script("truncate stoa.outbox restart identity; truncate stoa.outbox_relays"));
  const fill = (count: number, body = "1") =>
    db.execute(
      `insert into stoa.outbox (broker, topic, key, message_id, headers, body, size)
       select 'kafka', 't', 'k', 'm' || n, '{}', $2, length($2) from generate_series(1, $1::int) n`,
      [count, body],
    );
  const expire = () => db.execute("update stoa.outbox_relays set lease_until = '-infinity'");
  const rows = () => db.fetch("select id, state, attempts from stoa.outbox order by id");

  const acquire = async (broker: string, owner: string) =>
    (await storage.leases.claim(broker, owner, 60_000))?.token ?? null;
  /** The token of a lease that is free. */
  const acquired = async (broker: string, owner: string): Promise<number> => {
    const token = await acquire(broker, owner);
    expect(token).not.toBeNull();
    return token!;
  };

  it("A key that the index of failed messages cannot hold is refused, and the longest one that is stored can fail", async () => {
    // Another letter each time: the database compresses what repeats.
    const letters = (count: number) =>
      Array.from({ length: count }, (_, n) => String.fromCharCode(0x4e00 + ((n * 7919) % 20_000))).join("");
    const store = (key: string) => {
      const record = { topic: "t".repeat(200), id: "1", key, headers: {}, body: new Uint8Array(0) };
      return storage.insert("kafka", [{ ...record, timestamp: 0, delayMs: 0 }], db);
    };
    await expect(store(letters(1000))).rejects.toThrow("a key in the outbox has at most 2400 bytes");
    await store(letters(800));
    const token = await acquired("kafka", "a");
    const report = { published: [], failed: [{ id: 1, error: "no", pause: null }], held: [] };
    expect(await storage.settle("kafka", token, 60_000, report)).toMatchObject({ held: true });
    expect(await rows()).toEqual([{ id: 1, state: "stuck", attempts: 1 }]);
  });

  it("One process at a time has the lease of a broker, and each claim has a higher token", async () => {
    const first = await acquired("kafka", "a");
    expect(await acquire("kafka", "b")).toBeNull();
    await acquired("amqp", "b");
    await expire();
    const second = await acquired("kafka", "b");
    expect(second).toBeGreaterThan(first);
    await storage.leases.release("kafka", first);
    expect(await acquire("kafka", "a")).toBeNull();
    await storage.leases.release("kafka", second);
    expect(await acquired("kafka", "a")).toBeGreaterThan(second);
  });

  it("A token is higher than the one before, even if the clock was set back", async () => {
    const first = await acquired("kafka", "a");
    const later = first + 3_600_000_000;
    await db.execute("update stoa.outbox_relays set token = $1, lease_until = '-infinity'", [later]);
    expect(await acquired("kafka", "b")).toBe(later + 1);
  });

  it("A process whose lease was taken over changes nothing, whatever it reports", async () => {
    await fill(3);
    const first = await acquired("kafka", "a");
    await expire();
    const second = await acquired("kafka", "b");
    const untouched = await rows();
    const report = { published: [1], failed: [{ id: 2, error: "no", pause: null }], held: [3] };
    expect(await storage.settle("kafka", first, 60_000, report)).toMatchObject({ held: false });
    expect(await rows()).toEqual(untouched);
    expect(await storage.settle("kafka", second, 60_000, report)).toMatchObject({ held: true, nextDue: null });
    expect(await rows()).toEqual([
      { id: 2, state: "stuck", attempts: 1 },
      { id: 3, state: "held", attempts: 0 },
    ]);
  });

  it("Messages are read up to a number and a size, at least one, and without those of topics that rest", async () => {
    await fill(5, "x".repeat(3_000_000));
    expect(await storage.ready("kafka", 500, [])).toHaveLength(3);
    expect(await storage.ready("kafka", 2, [])).toHaveLength(2);
    expect(await storage.ready("kafka", 500, ["t"])).toEqual([]);
    expect(await storage.ready("amqp", 500, [])).toEqual([]);
    await db.script("truncate stoa.outbox");
    await fill(2, "x".repeat(9_000_000));
    expect(await storage.ready("kafka", 500, [])).toHaveLength(1);
  });
});
