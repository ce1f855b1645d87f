import { exitCodeOf, onStopSignal, survivesBrokenOutput } from "../server/process/signals.js";
import type { CallBase } from "./command.js";
import { createTerminal } from "./terminal.js";

/** Runs a program of the command line in this process, and ends the process with its exit code. */
export async function runProcess(program: (call: CallBase) => Promise<number>): Promise<never> {
  survivesBrokenOutput();
  const stop = new AbortController();
  let stopped: number | null = null;
  // The first signal cancels what runs in the database; an impatient second one ends the process at once.
  const letGo = onStopSignal((signal, count) => {
    stopped = exitCodeOf(signal);
    if (count > 1) process.exit(stopped);
    stop.abort(new Error(`stopped by ${signal}`));
  });

  const code = await program({
    terminal: createTerminal(process, stop.signal),
    cwd: process.cwd(),
    env: process.env,
    signal: stop.signal,
  });
  letGo();
  // Modules of the project may have left something open that would keep the process alive.
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done))));
  process.exit(stopped ?? code);
}
