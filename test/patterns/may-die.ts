/**
 * Chances of a process of a test to die. With `KILL_AT=n` it kills itself at its n-th chance; with `PAUSE_AT=n` it stops itself
 * there, past its leases, until it is told to continue.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../src/engines/db/database.js";

let killAt = Number(process.env["KILL_AT"] ?? 0);
let pauseAt = Number(process.env["PAUSE_AT"] ?? 0);

export function mayDie(): void {
  if (--killAt === 0) process.kill(process.pid, "SIGKILL");
  if (--pauseAt === 0) process.kill(process.pid, "SIGSTOP");
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** Adds a chance before and after each call of some methods. Nobody learns of a change that was just committed. */
export function mayDieAround(prototype: object, names: readonly string[]): void {
  const methods = prototype as Record<string, Method>;
  for (const name of names) {
    const method = methods[name];
    if (method === undefined) throw new Error(`there is no method ${name}`);
    methods[name] = async function (...args) {
      mayDie();
      const result = await method.apply(this, args);
      mayDie();
      return result;
    };
  }
}

/** Shows forever that the process runs: after a pause, that it has come to its next turns. */
export async function beat(db: Database): Promise<never> {
  for (;;) {
    // After a pause the time for a free connection can be over.
    await db.execute("insert into beats values ($1)", [process.pid]).catch(() => {});
    await delay(20);
  }
}
