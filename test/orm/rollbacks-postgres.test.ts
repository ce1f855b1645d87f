import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { OperationalError, UniqueViolation } from "../../src/engines/db/errors.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { bindDatabase, createTables, field, Model } from "../../src/entry/orm.js";
import { makeDatabase } from "../engines/db/engines.js";
import { FaultProxy } from "../engines/db/fault-proxy.js";
import { service } from "../support/service.js";
import { truncate } from "./databases.js";

class Account extends Model("accounts", {
  id: field.auto(),
  name: field.text({ unique: true }),
  balance: field.int({ default: 100 }),
}) {}

class Page extends Model("pages", { id: field.auto(), text: field.text(), version: field.version() }) {}

const models = [Account, Page];
const server = service("postgres") ?? "";

/** Waits until so many callers have arrived; later callers do not wait. */
function barrier(count: number): () => Promise<void> {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    if (--count <= 0) open();
    return opened;
  };
}

describe.skipIf(server === "")("transactions that collide", () => {
  let db: Database;
  let fragile: Database;
  let proxy: FaultProxy;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const made = await makeDatabase(server);
    drop = made.drop;
    proxy = await FaultProxy.start(made.url);
    db = await openDatabase({ url: made.url, poolSize: 4 });
    fragile = await openDatabase({ url: proxy.through(made.url), sslmode: "disable", poolSize: 1 });
    bindDatabase(db);
    await createTables(db, models);
  });

  afterAll(async () => {
    bindDatabase(null);
    await fragile?.close();
    await db?.close();
    await proxy?.close();
    await drop?.();
  });

  beforeEach(async () => {
    await truncate(db, models);
    await Account.objects.bulkCreate([{ name: "a" }, { name: "b" }]);
  });

  it("Both transactions of a deadlock write all of their instances", async () => {
    await Page.objects.bulkCreate([{ text: "one" }, { text: "two" }]);
    const met = barrier(2);
    let runs = 0;
    const collide = async (order: readonly number[], value: number): Promise<void> => {
      const rows = await Promise.all(order.map((id) => Account.objects.get({ id })));
      const page = await Page.objects.get({ id: order[0]! });
      const made = new Account({ name: `new ${value}` });
      await db.transaction(
        async () => {
          runs++;
          await made.save();
          page.text = `by ${value}`;
          await page.save();
          for (const row of rows) {
            row.balance = value;
            await row.save();
            await met();
          }
        },
        { retry: 5 },
      );
      expect(await Account.objects.get({ id: made.id! })).toMatchObject({ name: `new ${value}` });
    };
    await Promise.all([collide([1, 2], 11), collide([2, 1], 12)]);
    // The one that gave way runs again; it may meet the other one a second time.
    expect(runs).toBeGreaterThanOrEqual(3);
    const [first, second] = await Account.objects.filter({ id__lte: 2 }).flat("balance");
    expect([11, 12]).toContain(first);
    expect(second).toBe(first);
    expect(await Page.objects.orderBy("id").values("text", "version")).toEqual([
      { text: "by 11", version: 2 },
      { text: "by 12", version: 2 },
    ]);
  });

  it("A serialization failure at the commit gives back the state from before", async () => {
    const met = barrier(2);
    const made = [new Account({ name: "c" }), new Account({ name: "d" })];
    const statuses: number[] = [];
    await Promise.all(
      made.map((each) =>
        db.transaction(
          async () => {
            statuses.push(await Account.objects.count());
            await each.save();
            // Both have read and written: one of the commits fails.
            await met();
          },
          { isolation: "serializable", retry: 5 },
        ),
      ),
    );
    expect(statuses.length).toBeGreaterThan(2);
    expect(await Account.objects.orderBy("id").flat("name")).toEqual(expect.arrayContaining(["c", "d"]));
    for (const each of made) expect(await Account.objects.get({ id: each.id! })).toMatchObject({ name: each.name });
  });

  it("A connection that is lost before the commit arrives gives back the state from before", async () => {
    const account = await Account.objects.using(fragile).get({ id: 1 });
    const made = new Account({ name: "c" });
    account.balance = 11;
    proxy.changeRequest = (chunk) => {
      if (!chunk.includes("commit")) return chunk;
      proxy.cut();
      return Buffer.alloc(0);
    };
    const lost = fragile.transaction(async (tx) => {
      await account.save();
      await made.save({ using: tx });
    });
    await expect(lost).rejects.toThrow(OperationalError);
    proxy.changeRequest = null;
    expect("id" in made).toBe(false);
    await account.save();
    await made.save();
    expect(await Account.objects.orderBy("id").flat("balance")).toEqual([11, 100, 100]);
  });

  it("A commit whose response is lost leaves nothing unsaved, and a second insert is refused", async () => {
    const account = await Account.objects.using(fragile).get({ id: 1 });
    const made = new Account({ name: "c" });
    account.balance = 11;
    proxy.changeRequest = (chunk) => {
      if (chunk.includes("commit"))
        proxy.change = () => {
          proxy.cut();
          return Buffer.alloc(0);
        };
      return chunk;
    };
    const lost = fragile.transaction(async (tx) => {
      await account.save();
      await made.save({ using: tx });
    });
    await expect(lost).rejects.toThrow(OperationalError);
    proxy.changeRequest = proxy.change = null;
    await account.save();
    await expect(made.save()).rejects.toThrow(UniqueViolation);
    expect(await Account.objects.orderBy("id").flat("balance")).toEqual([11, 100, 100]);
  });
});
