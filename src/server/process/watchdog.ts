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
  /** Seconds that this process has to end by itself after `stopping`. */
  readonly stopSeconds: number;
  /**
   * Called in the main thread in the middle of whatever it does, when it has made no turn for some seconds. Returns a
   * function that is called with the next turn.
   */
  readonly onStuck?: () => () => void;
  /** Called at every turn that is counted. */
  readonly onTurn?: (inspected: boolean) => void;
}

export interface Watchdog {
  /** Makes the limit apply: before this, a start may take long. */
  arm(): void;
  /** The process begins to end. If it gets stuck, it is killed. */
  stopping(): void;
  stop(): void;
}

/** The name of the global function that the thread calls in the main thread. */
const stuckCall = "stoa.stuck";

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
  const { seconds, parent, orphanSeconds, stopSeconds, report, onStuck, onTurn } = options;
  const { Worker } = await import("node:worker_threads");
  const inspector = await import("node:inspector").catch(() => null);
  const turns = new Int32Array(new SharedArrayBuffer(12));
  const period = watchPeriod(seconds);
  const ticks = (limit: number): number => Math.ceil((limit * 1000) / period);
  let recovered: (() => void) | null = null;
  if (onStuck) {
    Object.defineProperty(globalThis, Symbol.for(stuckCall), {
      configurable: true,
      value: () => {
        recovered ??= onStuck();
      },
    });
  }
  const beat = (): void => {
    recovered?.();
    recovered = null;
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
    workerData: {
      turns,
      period,
      limit: ticks(seconds),
      seconds,
      parent,
      orphanLimit: ticks(orphanSeconds),
      // Two more, for the exit itself.
      stopLimit: ticks(stopSeconds) + 2,
      callAfter: onStuck ? ticks(stopSeconds / 4) : 0,
      stuckCall,
      report,
    },
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
    stopping() {
      Atomics.store(turns, 2, 1);
    },
    stop() {
      clearInterval(timer);
      void thread.terminate();
    },
  };
}
