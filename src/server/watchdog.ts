import { watchdogProgram } from "./watchdog-thread.js";

export interface WatchdogOptions {
  /** Seconds without a turn of the event loop after which the process is killed; 0 for no limit. */
  readonly seconds: number;
  /** The id of the process without which this one must not live; null if there is none. */
  readonly parent: number | null;
  /** Seconds that this process has to end by itself when its parent has died. */
  readonly orphanSeconds: number;
  /** The descriptor that gets a JSON line with the place of a stuck process; null for a text on standard error. */
  readonly report: number | null;
  /** Called at every turn that is counted. */
  readonly onTurn?: (inspected: boolean) => void;
}

export interface Watchdog {
  /** The limit holds from here on: a start may take its time. */
  arm(): void;
  stop(): void;
}

/** Milliseconds between two ticks of a watch with this limit: at least five before the limit is reached. */
export function watchPeriod(seconds: number): number {
  return seconds > 0 ? Math.min(1000, seconds * 200) : 1000;
}

/**
 * Watches the event loop of this process from a thread, and kills the process when no turn was made for too long: a
 * process in an endless loop handles neither requests nor signals, nor the end of its parent. While a debugger is
 * attached, nothing is too long. The thread takes 8 MB, and a timer in each of the two threads.
 */
export async function startWatchdog(options: WatchdogOptions): Promise<Watchdog> {
  const { seconds, parent, orphanSeconds, report, onTurn } = options;
  const { Worker } = await import("node:worker_threads");
  const inspector = await import("node:inspector").catch(() => null);
  const turns = new Int32Array(new SharedArrayBuffer(8));
  const period = watchPeriod(seconds);
  const ticks = (limit: number): number => Math.ceil((limit * 1000) / period);
  const beat = (): void => {
    const inspected = inspector?.url() !== undefined;
    Atomics.store(turns, 1, inspected || !armed ? 1 : 0);
    Atomics.add(turns, 0, 1);
    if (armed) onTurn?.(inspected);
  };
  let armed = false;
  beat();
  const timer = setInterval(beat, period / 2);
  timer.unref();
  const thread = new Worker(watchdogProgram, {
    eval: true,
    name: "stoa watchdog",
    // Neither the loaders nor the preloaded modules of the program.
    execArgv: [],
    env: {},
    workerData: { turns, period, limit: ticks(seconds), seconds, parent, orphanLimit: ticks(orphanSeconds), report },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  });
  thread.unref();
  // Without its watchdog the process still serves; a supervisor notices a stuck one too.
  thread.on("error", () => {});
  return {
    arm() {
      armed = true;
      beat();
    },
    stop() {
      clearInterval(timer);
      void thread.terminate();
    },
  };
}
