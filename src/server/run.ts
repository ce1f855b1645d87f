import { statSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { urlOf } from "./banner.js";
import { readCommandLine, usage } from "./command-line.js";
import { readEnvironment } from "./environment.js";
import { serveProcess } from "./process/owned-process.js";
import { parentLink } from "./process/parent-link.js";
import { planRun, type RunFields, type RunOptions, readRunOptions } from "./run-options.js";
import type { RunTarget } from "./run-target.js";
import type { RunningServer } from "./running-server.js";
import { serve } from "./serve.js";
import { StartError, startFailure, startReport } from "./start-error.js";

export type { RunningServer };

let owned = false;

/**
 * Starts the server. The process then belongs to the server: it reads the command line, handles signals, and a start
 * that fails is one line on stderr and exit code 1. With `exit: false` the process stays the caller's and the promise
 * rejects.
 */
export async function run(target: RunTarget, options?: RunOptions): Promise<RunningServer> {
  if (options?.exit === false) return runInside(target, readRunOptions(options));
  try {
    return await runProcess(target, readRunOptions(options));
  } catch (error) {
    return fail(error);
  }
}

async function runInside(target: RunTarget, options: Partial<RunFields>): Promise<RunningServer> {
  const plan = planRun({}, options, readEnvironment(process.env));
  if (plan.address.path !== undefined) await clearStaleSocket(plan.address.path);
  const { address, close } = await serve(target, plan);
  return {
    address,
    url: urlOf(address, plan.tls !== null),
    close: async () => void (await close(plan.shutdownTimeout)),
  };
}

async function runProcess(target: RunTarget, options: Partial<RunFields>): Promise<RunningServer> {
  if (owned) throw new StartError("this process has a server already; give the second one `exit: false`");
  owned = true;
  const commandLine = readCommandLine(process.argv.slice(2));
  if (commandLine.help) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const plan = planRun(commandLine.options, options, readEnvironment(process.env));
  if (!parentLink) for (const doubt of commandLine.doubts) process.stderr.write(`stoa: ${doubt}\n`);
  if (parentLink) return serveProcess(target, plan, parentLink);
  if (plan.address.path !== undefined) await clearStaleSocket(plan.address.path);
  if (plan.reload) {
    const { programOf, reloadForever } = await import("./process/reload.js");
    return reloadForever(programOf(process.argv), () => target.keeper?.());
  }
  if (plan.settings.workers > 1) {
    const { isForeignWorker, supervise } = await import("./process/supervisor.js");
    if (!isForeignWorker()) return supervise(target, plan);
  }
  return serveProcess(target, plan, null);
}

async function fail(error: unknown): Promise<never> {
  const reason = parentLink?.role === "reload" ? startReport(error) : startFailure(error);
  if (parentLink) await parentLink.send({ stoa: "failed", reason, code: !(error instanceof StartError) });
  else process.stderr.write(`stoa: ${reason}\n`);
  process.exit(1);
}

/**
 * Removes a socket file on which no process listens: the file of a killed server would otherwise keep the next one
 * from starting. Anything else at that path is left alone.
 */
async function clearStaleSocket(path: string): Promise<void> {
  if (!statSync(path, { throwIfNoEntry: false })?.isSocket()) return;
  if (await isRefused(path)) unlinkSync(path);
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });
}
