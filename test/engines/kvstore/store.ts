import { randomUUID } from "node:crypto";
import { type KvStore, type KvStoreOptions, openKvStore } from "stoa";
import { onTestFinished } from "vitest";
import { service } from "../../support/service.js";

/** The address of the test's Redis; tests that use it are skipped where there is none. */
export const redisUrl = service("redis") ?? "redis://127.0.0.1:1";

/** A store whose keys no other test sees. It is closed, and its keys are deleted, when the test has finished. */
export async function testStore(options: KvStoreOptions = {}): Promise<KvStore> {
  const kv = await openKvStore({ url: redisUrl, prefix: `test:${randomUUID()}:`, ...options });
  onTestFinished(async () => {
    const keys: string[] = [];
    for await (const key of kv.scan()) keys.push(key);
    await kv.delete(...keys);
    await kv.close();
  });
  return kv;
}

/** Waits until a condition holds. The time limit of the test ends the wait. */
export async function until(condition: () => unknown | Promise<unknown>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}
