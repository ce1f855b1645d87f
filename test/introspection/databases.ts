import { afterAll, beforeAll, describe } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { engines } from "../engines/db/engines.js";

/** Runs a suite on every engine, with two empty databases: what is read from one is made again in the other. */
export function describePairs(
  name: string,
  server: string | undefined,
  suite: (first: () => Database, second: () => Database) => void,
): void {
  describe.each(engines(server))(`${name} ($name)`, (engine) => {
    const open: Database[] = [];
    const drops: (() => Promise<void>)[] = [];
    beforeAll(async () => {
      for (let made = 0; made < 2; made++) {
        const { url, drop } = await engine.make();
        drops.push(drop);
        open.push(await openDatabase({ url, poolSize: 2 }));
      }
    });
    afterAll(async () => {
      for (const db of open) await db.close();
      for (const drop of drops) await drop();
    });
    suite(
      () => open[0]!,
      () => open[1]!,
    );
  });
}
