import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "./compile.mjs";
import { Ledger } from "./ledger.mjs";
import { Program } from "./program.mjs";
import { seeded } from "./random.mjs";
import { pause } from "./wait.mjs";

/**
 * A subject of the rig: one file in subjects/.
 *
 * @typedef {{ name: string, start(place: Place): Promise<Running> }} Subject
 * `start` throws if a service that the subject needs is not available: it is skipped then, with the reason.
 *
 * @typedef {object} Running
 * @property {Actor[]} actors processes and services that may be hurt
 * @property {(signal: AbortSignal) => Promise<void>} [act] makes work in this process until the signal is aborted
 * @property {() => Promise<void>} settle called when all faults are over: ends the work and waits, for a bounded time, until
 *   nothing moves any more
 * @property {() => Promise<{ counts: Record<string, number>, failures: string[] }>} check
 * @property {() => Promise<void>} stop
 *
 * @typedef {{ name: string, faults: Record<string, (random: Random) => Promise<void>> }} Actor
 * A fault hurts the actor and resolves when the actor is well again.
 *
 * @typedef {{ folder: string, random: Random, seconds: number, long: boolean, ledger: Ledger, compile: (file: string) => Promise<string>, spawn: Function }} Place
 */

/** Runs one subject under faults. */
export async function runSubject(subject, { seed, seconds, long = false, log = () => {} }) {
  const folder = await mkdtemp(join(tmpdir(), "stoa-chaos-"));
  const random = seeded(`${seed}-${subject.name}`);
  const ledger = new Ledger(join(folder, "ledger"));
  const programs = [];
  const spawn = (file, args, options) => {
    const program = new Program(file, args, options);
    programs.push(program);
    return program;
  };
  let running;
  try {
    try {
      running = await subject.start({
        folder,
        random,
        seconds,
        long,
        ledger,
        compile: (file) => compile(file, folder),
        spawn,
      });
    } catch (error) {
      return { skipped: error.message };
    }
    const faults = {};
    const acting = new AbortController();
    const act = running.act?.(acting.signal);
    const end = Date.now() + seconds * 1000;
    // Each actor is hurt by one fault at a time; several actors can be hurt at once.
    await Promise.all(
      running.actors.map(async (actor, place) => {
        const own = seeded(`${seed}-${subject.name}-${place}`);
        const kinds = Object.keys(actor.faults);
        while (Date.now() < end && kinds.length > 0) {
          await pause(Math.min(own.between(500, 4000), Math.max(0, end - Date.now())));
          if (Date.now() >= end) break;
          const kind = own.pick(kinds);
          faults[kind] = (faults[kind] ?? 0) + 1;
          log(`${actor.name}: ${kind}`);
          await actor.faults[kind](own);
        }
      }),
    );
    acting.abort();
    await act;
    await running.settle();
    const { counts, failures } = await running.check(faults);
    return { faults, counts, failures: [...failures, ...programs.flatMap((program) => program.failures)] };
  } finally {
    await running?.stop().catch(() => {});
    for (const program of programs) program.end();
    await rm(folder, { recursive: true, force: true });
  }
}
