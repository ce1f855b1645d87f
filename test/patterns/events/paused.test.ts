import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { compiled } from "../../support/compiled.js";
import { service } from "../../support/service.js";
import { makePlace, type Place } from "./stores.js";
import { totals } from "./totals.js";

const server = service("postgres");
const patient = { timeout: 100_000, interval: 20 };
const program = join(import.meta.dirname, "pausing-process.ts");
const count = 20;

describe.skipIf(!server)("a worker of events that was paused past its lease", { timeout: 240_000 }, () => {
  let place: Place;
  let app: App;
  let child: ChildProcess;
  beforeEach(async () => {
    place = await makePlace("postgres", server);
    app = await place.start({ lease: "1s" });
    await app.database.script("create table handled (position bigint, pid int); create table beats (pid int)");
    for (let n = 1; n <= count; n++) {
      await app.eventStore.append("order-1", { type: "ItemAdded", data: { sku: "a", price: n } });
    }
  });
  afterEach(async () => {
    child.kill("SIGKILL");
    await place.drop();
  });
  /** Starts the worker, and resolves when it has stopped itself. */
  const pausedIn = async (where: string): Promise<void> => {
    child = spawn(process.execPath, [compiled(program), place.url, where], { stdio: "inherit" });
    const state = () => readFileSync(`/proc/${child.pid}/status`, "utf8");
    await vi.waitFor(() => expect(state()).toMatch(/^State:\s+T/m), patient);
  };
  /** Lets the worker continue, and resolves when it has worked for a while. */
  const goesOn = async (): Promise<void> => {
    child.kill("SIGCONT");
    const beats = "select count(*)::int from beats where pid = $1";
    const before = (await app.database.fetchval<number>(beats, [child.pid]))!;
    await vi.waitFor(
      async () => expect(await app.database.fetchval(beats, [child.pid])).toBeGreaterThan(before + 20),
      patient,
    );
  };
  const state = () => app.database.fetch("select name, position, token from stoa.subscriptions order by name");

  it("A batch of a projection that was under way is not committed, and each event is counted once", async () => {
    await pausedIn("batch");
    const sums = totals("paused_totals", { batch: 3 });
    app.eventStore.project(sums);
    expect(await app.eventStore.waitFor(sums, count, { timeoutMs: 100_000 })).toBe(true);
    const rows = () => app.database.fetch("select * from paused_totals");
    const all = [{ stream: "order-1", total: (count * (count + 1)) / 2, events: count }];
    expect(await rows()).toEqual(all);
    const before = await state();
    await goesOn();
    expect(await rows()).toEqual(all);
    expect(await state()).toEqual(before);
  });

  it("A subscription that another worker has taken over handles nothing more, and leaves the checkpoint alone", async () => {
    await pausedIn("handler");
    const own: number[] = [];
    app.eventStore.subscribe({ name: "paused", categories: ["order"], batch: 3 }, ({ position }) => own.push(position));
    expect(await app.eventStore.waitFor("paused", count, { timeoutMs: 100_000 })).toBe(true);
    const handled = () => app.database.fetch<{ position: number }>("select position from handled order by position");
    const before = [await handled(), await state()];
    await goesOn();
    expect([await handled(), await state()]).toEqual(before);
    // The event in progress may be handled again, and no event is left out.
    const first = (await handled()).map(({ position }) => position);
    expect(first).toEqual([1, 2, 3, 4]);
    expect(new Set([...first, ...own])).toEqual(new Set(Array.from({ length: count }, (_, index) => index + 1)));
  });
});
