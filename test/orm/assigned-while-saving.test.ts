import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Account extends Model("accounts_in_flight", {
  id: field.auto(),
  balance: field.int(),
  tag: field.text({ default: "none" }),
  at: field.datetime({ null: true }),
}) {}

describeDatabases("values assigned while a row is written", service("postgres"), [Account], (db) => {
  beforeEach(() => truncate(db(), [Account]));
  afterEach(() => void vi.restoreAllMocks());

  /** Calls back when the next statement of a kind was sent, before its result is known. */
  const onSent = (kind: "fetchArrays" | "execute", assign: () => void): void => {
    const send = db()[kind].bind(db()) as (...given: unknown[]) => Promise<unknown>;
    const wrapped = (...given: unknown[]): Promise<unknown> => {
      const result = send(...given);
      assign();
      return result;
    };
    vi.spyOn(db() as Database, kind).mockImplementationOnce(wrapped as never);
  };
  const stored = (): Promise<unknown> => Account.objects.values("balance", "tag").first();

  it("An update keeps values assigned meanwhile, for the next save", async () => {
    const account = await Account.objects.create({ balance: 1, at: new Date(0) });
    await Account.objects.update({ tag: "by others" });
    account.balance = 2;
    onSent("fetchArrays", () => {
      account.balance = 3;
      account.at!.setTime(5000);
    });
    await account.save();
    expect([account.balance, account.tag, account.at]).toEqual([3, "by others", new Date(5000)]);
    expect(await stored()).toEqual({ balance: 2, tag: "by others" });
    await account.save();
    expect(await stored()).toEqual({ balance: 3, tag: "by others" });
    expect((await Account.objects.get()).at).toEqual(new Date(5000));
  });

  it("An insert keeps values assigned meanwhile, for the next save", async () => {
    const account = new Account({ balance: 1 });
    onSent("fetchArrays", () => (account.tag = "later"));
    await account.save();
    expect([account.id, account.tag]).toEqual([1, "later"]);
    await account.save();
    expect(await stored()).toEqual({ balance: 1, tag: "later" });
  });

  it("Bulk writes keep values assigned meanwhile, for the next save", async () => {
    const account = new Account({ balance: 1 });
    onSent("fetchArrays", () => (account.tag = "later"));
    await Account.objects.bulkCreate([account]);
    await account.save();
    expect(await stored()).toEqual({ balance: 1, tag: "later" });
    account.balance = 2;
    onSent("execute", () => (account.balance = 3));
    await Account.objects.bulkUpdate([account], ["balance"]);
    expect(await stored()).toEqual({ balance: 2, tag: "later" });
    await account.save();
    expect(await stored()).toEqual({ balance: 3, tag: "later" });
  });
});
