import { expect, it } from "vitest";
import { MemoryKeys } from "../../../src/patterns/events/personal/key-storages.js";
import { SubjectKeys } from "../../../src/patterns/events/personal/subject-keys.js";
import { MemoryStorage } from "../../../src/patterns/events/storage/memory-storage.js";
import { quiet } from "./stores.js";

/** Keys whose reads can be held back after they have been made, as a slow network does. */
class SlowKeys extends MemoryKeys {
  arrives: Promise<void> = Promise.resolve();

  override async bySubject(subjects: readonly string[]) {
    const found = await super.bySubject(subjects);
    await this.arrives;
    return found;
  }

  override async byId(ids: readonly string[]) {
    const found = await super.byId(ids);
    await this.arrives;
    return found;
  }
}

const secret = "a secret of the tests, long enough";

it("A key that is deleted while a read of it is under way is not kept in memory", async () => {
  const storage = new SlowKeys(new MemoryStorage());
  const other = new SubjectKeys(storage, [secret], 3_600_000, quiet);
  const keys = new SubjectKeys(storage, [secret], 3_600_000, quiet);
  const { id } = (await other.forWriting(["ada"], "customer-ada")).get("ada")!;
  let arrive = (): void => {};
  storage.arrives = new Promise((resolve) => {
    arrive = resolve;
  });
  const read = keys.forReading([id]);
  const written = keys.forWriting(["ada"], "customer-ada");
  await keys.forget("ada");
  arrive();
  expect([(await read).has(id), (await written).get("ada")!.id]).toEqual([true, id]);
  expect((await keys.forReading([id])).has(id)).toBe(false);
  expect((await keys.forWriting(["ada"], "customer-ada")).get("ada")!.id).not.toBe(id);
});
