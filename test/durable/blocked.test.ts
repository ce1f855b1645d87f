import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, type TestContext, vi } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { makeDatabase } from "../engines/db/engines.js";
import { compiled } from "../support/compiled.js";
import { service } from "../support/service.js";

const server = service("postgres");
const patient = { timeout: 120_000, interval: 50 };
const program = join(import.meta.dirname, "blocking-process.ts");
/** Long enough for the thread of a machine that is busy. */
const leaseMs = 9000;
const blockMs = 14_000;

/** Two workers with a database of their own. */
class Workers {
  readonly db: Database;
  readonly #url: string;
  readonly #children: ChildProcess[] = [];
  readonly #lines: { message: string; work?: unknown }[] = [];

  private constructor(db: Database, url: string) {
    this.db = db;
    this.#url = url;
  }

  /** Starts the workers, and then the work. */
  static async run(mode: string, { onTestFinished }: TestContext): Promise<Workers> {
    const { url, drop } = await makeDatabase(server!);
    onTestFinished(drop);
    const db = await openDatabase(url);
    onTestFinished(() => db.close());
    await db.script("create table begun (what text, pid int)");
    const workers = new Workers(db, url);
    onTestFinished(() => workers.#children.forEach((child) => void child.kill("SIGKILL")));
    await workers.#start(mode);
    return workers;
  }

  async #start(mode: string): Promise<void> {
    for (let n = 0; n < 2; n++) {
      const args = [compiled(program), this.#url, mode, String(leaseMs), String(blockMs)];
      const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
      this.#children.push(child);
      createInterface(child.stdout!).on("line", (line) => this.#lines.push(JSON.parse(line)));
    }
    const ready = () => this.#lines.filter(({ message }) => message === "ready");
    await vi.waitFor(() => expect(ready()).toHaveLength(2), patient);
    this.#children[0]!.stdin!.write("start\n");
  }

  begun(): Promise<unknown[]> {
    return this.db.fetch("select what, count(*)::int as times from begun group by what order by what");
  }

  blocks(): unknown[] {
    const blocked = this.#lines.filter(({ message }) => message.startsWith("the event loop was blocked"));
    return blocked.map(({ work }) => work);
  }
}

// At once: nearly all of their time is the time that the workers are blocked.
describe
  .skipIf(!server)
  .concurrent("work that blocks the event loop for longer than its lease", { timeout: 240_000 }, () => {
    it("A job is begun once and done, and the log names it", async (context) => {
      const workers = await Workers.run("job", context);
      await vi.waitFor(async () => {
        const rows = await workers.db.fetch("select status, attempts from stoa.jobs where finished_at is not null");
        expect(rows).toEqual([{ status: "done", attempts: 1 }]);
      }, patient);
      expect(await workers.begun()).toEqual([{ what: "job", times: 1 }]);
      await vi.waitFor(() => expect(workers.blocks()).toContainEqual(["job 'blocking' 1"]), patient);
    });

    it("A step of a saga is begun once and the saga is completed, and the log names it", async (context) => {
      const workers = await Workers.run("saga", context);
      await vi.waitFor(async () => {
        const rows = await workers.db.fetch("select status from stoa.sagas where finished_at is not null");
        expect(rows).toEqual([{ status: "completed" }]);
      }, patient);
      expect(await workers.begun()).toEqual([{ what: "saga", times: 1 }]);
      await vi.waitFor(() => expect(workers.blocks()).toContainEqual(["saga 'blocking' one"]), patient);
    });

    it("A subscription handles each event once, and the log names it", async (context) => {
      const workers = await Workers.run("events", context);
      await vi.waitFor(async () => {
        expect(await workers.db.fetchval("select position from stoa.subscriptions where name = 'blocking'")).toBe(2);
      }, patient);
      expect(await workers.begun()).toEqual([
        { what: "event 1", times: 1 },
        { what: "event 2", times: 1 },
      ]);
      await vi.waitFor(() => expect(workers.blocks()).toContainEqual(["subscription 'blocking'"]), patient);
    });
  });
