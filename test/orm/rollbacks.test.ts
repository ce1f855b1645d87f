import { afterEach, beforeEach, expect, it } from "vitest";
import type { Transaction } from "../../src/engines/db/database.js";
import { field, type Manager, Model, softDelete } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Account extends Model("accounts", {
  id: field.auto(),
  name: field.text({ unique: true }),
  balance: field.int({ default: 100 }),
  changed: field.datetime({ autoNow: true }),
  get notes() {
    return field.reverse(() => Note, "account");
  },
}) {
  declare static objects: Manager<Account>;
}

class Page extends Model("pages", { id: field.auto(), text: field.text(), version: field.version() }) {}

class Label extends Model("labels", { id: field.auto(), name: field.text() }) {}

class Note extends Model("notes", {
  id: field.auto(),
  account: field.foreignKey(() => Account, { relatedName: "notes", null: true }),
  text: field.text(),
  labels: field.manyToMany(() => Label, { relatedName: "notes" }),
}) {}

class Card extends Model("cards", { id: field.auto(), text: field.text(), ...softDelete() }) {}

const models = [Account, Page, Label, Note, Card];

class Stop extends Error {}

describeDatabases("instances in a transaction that rolls back", service("postgres"), models, (db) => {
  let account: Account;
  const removals: (() => void)[] = [];

  beforeEach(async () => {
    await truncate(db(), models);
    account = await Account.objects.create({ name: "a" });
  });

  afterEach(() => {
    for (const remove of removals.splice(0)) remove();
  });

  /** Runs a function in a transaction that is rolled back after it. */
  const rolledBack = async (run: (tx: Transaction) => Promise<unknown>): Promise<void> => {
    const all = db().transaction(async (tx) => {
      await run(tx);
      throw new Stop();
    });
    await expect(all).rejects.toThrow(Stop);
  };

  const balances = () => Account.objects.orderBy("id").flat("balance");

  it("An update is written again by the next save", async () => {
    account.balance = 11;
    const { changed } = account;
    await rolledBack(() => account.save());
    expect([account.balance, account.changed]).toEqual([11, changed]);
    await account.save();
    expect(await balances()).toEqual([11]);
  });

  it("Values that were assigned after the first save are those of the first save again", async () => {
    account.balance = 11;
    await rolledBack(async () => {
      await account.save();
      account.balance = 12;
      await account.save();
      account.name = "never saved";
    });
    expect([account.balance, account.name]).toEqual([11, "a"]);
  });

  it("A new instance is new again and is inserted by the next save", async () => {
    const made = new Account({ name: "b" });
    await rolledBack(() => made.save());
    expect("id" in made).toBe(false);
    await made.save();
    expect(await Account.objects.orderBy("id").flat("name")).toEqual(["a", "b"]);
    expect(await Account.objects.get({ name: "b" })).toMatchObject({ id: made.id, balance: 100 });
  });

  it("An instance of create() is inserted by the next save", async () => {
    let made!: Account;
    await rolledBack(async () => {
      made = await Account.objects.create({ name: "b", balance: 5 });
    });
    await made.save();
    expect(await balances()).toEqual([100, 5]);
  });

  it("An instance with a version is saved with the version that the row has", async () => {
    const page = await Page.objects.create({ text: "one" });
    await rolledBack(async () => {
      page.text = "two";
      await page.save();
      expect(page.version).toBe(2);
    });
    expect(page.version).toBe(1);
    await page.save();
    expect([page.version, await Page.objects.flat("text")]).toEqual([2, ["two"]]);
  });

  it("A deleted instance is in the database again and is updated by the next save", async () => {
    await rolledBack(() => account.delete());
    account.balance = 7;
    await account.save();
    expect(await balances()).toEqual([7]);
    await account.delete();
    expect(await balances()).toEqual([]);
  });

  it("Instances of delete().returning() are in the database again", async () => {
    const gone: Account[] = [];
    await rolledBack(async () => {
      const rows = await Account.objects.delete().returning();
      gone.push(...rows);
    });
    gone[0]!.balance = 8;
    await gone[0]!.save();
    expect(await balances()).toEqual([8]);
  });

  it("A refreshed instance has the values from before", async () => {
    await rolledBack(async () => {
      await Account.objects.update({ balance: 11 });
      await account.refresh();
      expect(account.balance).toBe(11);
    });
    expect(account.balance).toBe(100);
    account.balance = 11;
    await account.save();
    expect(await balances()).toEqual([11]);
  });

  it("Instances of bulkCreate() are new again", async () => {
    const made = [new Account({ name: "b" }), new Account({ name: "c" })];
    await rolledBack(() => Account.objects.bulkCreate(made));
    await made[1]!.save();
    await Account.objects.bulkCreate([made[0]!]);
    expect(await Account.objects.orderBy("name").flat("name")).toEqual(["a", "b", "c"]);
  });

  it("Instances of bulkCreate() that skips conflicts keep their values and are inserted by the next save", async () => {
    let made!: Account[];
    await rolledBack(async () => {
      made = await Account.objects.bulkCreate([{ name: "a" }, { name: "b", balance: 3 }], { onConflict: "ignore" });
    });
    await made[0]!.save();
    expect(await Account.objects.orderBy("name").values("name", "balance")).toEqual([
      { name: "a", balance: 100 },
      { name: "b", balance: 3 },
    ]);
  });

  it("Instances of bulkUpdate() are written again by the next save, with the version that the row has", async () => {
    const page = await Page.objects.create({ text: "one" });
    account.balance = 11;
    page.text = "two";
    await rolledBack(async () => {
      await Account.objects.bulkUpdate([account], ["balance"]);
      await Page.objects.bulkUpdate([page], ["text"]);
    });
    expect(page.version).toBe(1);
    await account.save();
    await page.save();
    expect([await balances(), await Page.objects.flat("text")]).toEqual([[11], ["two"]]);
  });

  it("A savepoint gives back the state before it, the transaction that before itself", async () => {
    await rolledBack(async (tx) => {
      account.balance = 11;
      await account.save();
      account.balance = 12;
      await expect(
        tx.transaction(async () => {
          await account.save();
          account.balance = 13;
          throw new Stop();
        }),
      ).rejects.toThrow(Stop);
      expect(account.balance).toBe(12);
      await account.save();
      expect(await balances()).toEqual([12]);
    });
    expect(account.balance).toBe(11);
    await account.save();
    expect(await balances()).toEqual([11]);
  });

  it("A save in a savepoint that succeeded is undone with the transaction around it", async () => {
    account.balance = 11;
    await rolledBack((tx) => tx.transaction(() => account.save()));
    await account.save();
    expect(await balances()).toEqual([11]);
  });

  it("A save through the outer transaction while a savepoint is open is undone with the savepoint", async () => {
    account.balance = 11;
    await db().transaction(async (tx) => {
      const inner = tx.transaction(async () => {
        await account.save({ using: tx });
        throw new Stop();
      });
      await expect(inner).rejects.toThrow(Stop);
      await account.save();
    });
    expect(await balances()).toEqual([11]);
  });

  it("A committed save is kept, and the next save writes nothing", async () => {
    account.balance = 11;
    await db().transaction((tx) => tx.transaction(() => account.save()));
    await Account.objects.update({ balance: 12 });
    await account.save();
    expect(await balances()).toEqual([12]);
  });

  it("Saves that are sent together with a statement that fails are undone", async () => {
    const others = await Account.objects.bulkCreate([{ name: "b" }, { name: "c" }, { name: "d" }]);
    for (const other of others) other.balance = 11;
    const all = db().transaction(() =>
      Promise.all([others[0]!.save(), db().current.execute("select 1 / 0"), others[1]!.save(), others[2]!.save()]),
    );
    await expect(all).rejects.toThrow(/division by zero/);
    for (const other of others) await other.save();
    expect(await balances()).toEqual([100, 11, 11, 11]);
  });

  it("Saves under way when the function fails change no instance after the rollback", async () => {
    const others = await Account.objects.bulkCreate([{ name: "b" }, { name: "c" }]);
    for (const other of others) other.balance = 11;
    const made = new Account({ name: "e" });
    const sent: Promise<unknown>[] = [];
    await expect(
      db().transaction(() => {
        sent.push(others[0]!.save(), others[1]!.save(), made.save());
        throw new Stop();
      }),
    ).rejects.toThrow(Stop);
    await Promise.allSettled(sent);
    expect("id" in made).toBe(false);
    expect(await balances()).toEqual([100, 100, 100]);
    for (const each of [...others, made]) await each.save();
    expect(await balances()).toEqual([100, 11, 11, 100]);
  });

  it("Responses that arrive after the rollback has begun change no instance", async () => {
    account.balance = 11;
    const made = [new Account({ name: "b" }), new Account({ name: "c" }), new Account({ name: "d" })];
    const sent: Promise<unknown>[] = [];
    const all = db().transaction(async () => {
      sent.push(account.save(), made[0]!.save(), Account.objects.bulkCreate(made.slice(1)));
      // Long enough for the hooks of the saves, too short for a response.
      for (let turn = 0; turn < 20; turn++) await null;
      throw new Stop();
    });
    await expect(all).rejects.toThrow(Stop);
    await Promise.allSettled(sent);
    expect(made.map((each) => "id" in each)).toEqual([false, false, false]);
    await account.save();
    for (const each of made) await each.save();
    expect(await balances()).toEqual([11, 100, 100, 100]);
  });

  it("The changes of a hook are taken back, also of one that throws", async () => {
    removals.push(
      Account.on("beforeSave", (each) => {
        each.balance += 1;
      }),
    );
    await rolledBack(() => account.save());
    expect(account.balance).toBe(100);
    removals.push(
      Account.on("afterSave", () => {
        throw new Stop();
      }),
    );
    await expect(db().transaction(() => account.save())).rejects.toThrow(Stop);
    expect(account.balance).toBe(100);
    removals.pop()!();
    await account.save();
    expect(await balances()).toEqual([101]);
  });

  it("A hook that throws after a delete leaves the instance in the database when the transaction rolls back", async () => {
    removals.push(
      Account.on("afterDelete", () => {
        throw new Stop();
      }),
    );
    await expect(db().transaction(() => account.delete())).rejects.toThrow(Stop);
    account.balance = 3;
    await account.save();
    expect(await balances()).toEqual([3]);
  });

  it("Rows of a nested create are new again", async () => {
    let made!: Account;
    const note = new Note({ text: "given" });
    await rolledBack(async () => {
      made = await Account.objects.create({ name: "b", notes: [{ text: "one" }, note] });
    });
    expect(["id" in made, "id" in note, note.accountId ?? null]).toEqual([false, false, null]);
    await made.save();
    await note.save();
    expect(await Note.objects.values("text", "account")).toEqual([{ text: "given", account: null }]);
    expect(await Account.objects.count()).toBe(2);
  });

  it("A nested create that fails leaves the given instances as they were", async () => {
    const note = await Note.objects.create({ text: "mine", account });
    const fails = Account.objects.create({ name: "b", notes: [note, { text: null as unknown as string }] });
    await expect(fails).rejects.toThrow();
    expect(note.accountId).toBe(account.id);
  });

  it("Relations that were loaded or changed in it are those from before", async () => {
    const note = await Note.objects.create({ text: "one", account });
    const label = await Label.objects.create({ name: "old" });
    await note.labels.add(label);
    const [loaded] = await Account.objects.prefetchRelated("notes__labels");
    const lazy = await Account.objects.get({ id: account.id });
    const free = new Note({ text: "free" });
    await rolledBack(async () => {
      const [first] = loaded!.notes;
      await first!.related("labels").set([await Label.objects.create({ name: "new" })]);
      await loaded!.related("notes").add(free);
      await Note.objects.create({ text: "two", account });
      expect((await lazy.notes).map(({ text }) => text)).toHaveLength(3);
    });
    expect(loaded!.notes.map(({ text, labels }) => [text, labels.map(({ name }) => name)])).toEqual([["one", ["old"]]]);
    expect((await lazy.notes).map(({ text }) => text)).toEqual(["one"]);
    expect([free.accountId ?? null, "id" in free]).toEqual([null, false]);
  });

  it("A relation of many instances that is loaded in it is loaded again for each of them", async () => {
    await Account.objects.create({ name: "b" });
    const both = await Account.objects.orderBy("id");
    await rolledBack(async () => {
      await Note.objects.create({ text: "two", account: 2 });
      expect(await both[0]!.notes).toEqual([]);
      expect(await both[1]!.notes).toHaveLength(1);
    });
    expect(await both[1]!.notes).toEqual([]);
  });

  it("A foreign key that was saved with another row leads to the first row again", async () => {
    const other = await Account.objects.create({ name: "b" });
    const note = await Note.objects
      .selectRelated("account")
      .get({ id: (await Note.objects.create({ text: "x", account })).id });
    note.account = other;
    await rolledBack(() => note.save());
    expect(note.accountId).toBe(other.id);
    await note.save();
    expect(await Note.objects.flat("account")).toEqual([other.id]);
  });

  it("The rows of updateOrCreate() and getOrCreate() can be saved after the rollback", async () => {
    const kept: Account[] = [];
    await rolledBack(async () => {
      kept.push((await Account.objects.updateOrCreate({ name: "a" }, { balance: 11 }))[0]);
      kept.push((await Account.objects.updateOrCreate({ name: "b" }, { balance: 12 }))[0]);
      kept.push((await Account.objects.getOrCreate({ name: "c" }, { balance: 13 }))[0]);
    });
    for (const each of kept) await each.save();
    expect(await Account.objects.orderBy("name").values("name", "balance")).toEqual([
      { name: "a", balance: 11 },
      { name: "b", balance: 12 },
      { name: "c", balance: 13 },
    ]);
  });

  it("A constraint that fails at the commit gives back the state from before", async () => {
    await db().script(
      "create table if not exists late (account_id int references accounts deferrable initially deferred)",
    );
    account.balance = 11;
    const made = new Account({ name: "b" });
    const commit = db().transaction(async (tx) => {
      await account.save();
      await made.save();
      await tx.execute("insert into late values (999)");
    });
    await expect(commit).rejects.toMatchObject({ sqlstate: "23503" });
    await account.save();
    await made.save();
    expect(await balances()).toEqual([11, 100]);
  });

  it("A commit that turns out to be a rollback gives back the state from before", async () => {
    account.balance = 11;
    const commit = db().transaction(async (tx) => {
      await account.save();
      await tx.execute("select 1 / 0").catch(() => {});
    });
    await expect(commit).rejects.toMatchObject({ sqlstate: "25P02" });
    await account.save();
    expect(await balances()).toEqual([11]);
  });

  it("A function that runs again finds the instances as they were before their first write", async () => {
    const seen: unknown[] = [];
    const made = new Account({ name: "b" });
    let runs = 0;
    await db().transaction(
      async (tx) => {
        seen.push([account.balance, "id" in made]);
        account.balance = 11;
        await account.save();
        await made.save();
        if (++runs < 3) await tx.execute("do $$ begin raise sqlstate '40001'; end $$");
      },
      { retry: 5 },
    );
    expect(seen).toEqual([
      [100, false],
      [11, false],
      [11, false],
    ]);
    expect(await balances()).toEqual([11, 100]);
    expect(await Account.objects.get({ id: made.id! })).toMatchObject({ name: "b" });
  });

  it("A delete in a savepoint that rolls back lets the transaction save the instance", async () => {
    account.balance = 11;
    await db().transaction(async (tx) => {
      const inner = tx.transaction(async () => {
        await account.delete();
        throw new Stop();
      });
      await expect(inner).rejects.toThrow(Stop);
      await account.save();
    });
    expect(await balances()).toEqual([11]);
  });

  it("A softly deleted instance is not deleted after the rollback, and can be deleted", async () => {
    const card = await Card.objects.create({ text: "one" });
    await rolledBack(() => card.delete());
    expect(card.deletedAt).toBe(null);
    await card.delete();
    expect(await Card.objects.count()).toBe(0);
    await rolledBack(() => card.restore());
    expect(card.deletedAt).not.toBe(null);
  });
});
