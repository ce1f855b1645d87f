import { announce, urlOf } from "./banner.js";
import type { ParentLink } from "./parent-link.js";
import type { RunPlan } from "./run-options.js";
import type { RunTarget } from "./run-target.js";
import type { RunningServer } from "./running-server.js";
import { type Service, serve } from "./serve.js";
import { exitCodeOf, onParentSignal, onStopSignal, survivesBrokenOutput } from "./signals.js";

/** Serves in a process that belongs to the server, from its first signal handler to its exit code. */
export async function serveProcess(target: RunTarget, plan: RunPlan, link: ParentLink | null): Promise<RunningServer> {
  let ending = false;
  const starting: Promise<Service> = serve(target, plan);

  const end = async (code: number): Promise<void> => {
    if (ending) return;
    ending = true;
    void link?.send({ stoa: "leaving" });
    process.exit((await drained(starting, shutdownSeconds(plan, link))) ? code : 1);
  };

  const onCrash = (error: unknown, origin: string): void => {
    logCrash(target, error, origin);
    void end(1);
  };

  const releaseSignals = link
    ? onParentSignal(() => void end(0))
    : onStopSignal((signal, count) => {
        if (count > 1) process.exit(exitCodeOf(signal));
        void end(0);
      });
  process.on("uncaughtException", onCrash);
  link?.onLost(() => void end(0));
  survivesBrokenOutput();

  const release = (): void => {
    releaseSignals();
    process.off("uncaughtException", onCrash);
  };
  try {
    const { address, close } = await starting;
    await report(target, plan, link, address);
    return {
      address,
      url: urlOf(address, plan.tls !== null),
      close: async () => {
        release();
        await close(plan.shutdownTimeout);
      },
    };
  } catch (error) {
    if (ending) return new Promise(() => {});
    release();
    throw error;
  }
}

async function report(
  target: RunTarget,
  plan: RunPlan,
  link: ParentLink | null,
  address: Service["address"],
): Promise<void> {
  const links = target.links();
  if (plan.banner && link?.role !== "worker") {
    if (link?.again) process.stdout.write(`stoa: ready again on ${urlOf(address, plan.tls !== null)}\n`);
    else announce(target, plan, address, links);
  }
  await link?.send({ stoa: "ready", address, links });
}

/** Closes the service, or waits for a start that is under way to end and closes then. */
async function drained(starting: Promise<Service>, seconds: number): Promise<boolean> {
  const began = performance.now();
  const overdue = setTimeout(() => process.exit(1), seconds * 1000);
  try {
    const service = await starting.catch(() => undefined);
    clearTimeout(overdue);
    return (await service?.close(Math.max(0.1, seconds - (performance.now() - began) / 1000))) ?? true;
  } catch {
    return false;
  }
}

/** While reloading, a client that keeps its connection open is not waited for. */
function shutdownSeconds(plan: RunPlan, link: ParentLink | null): number {
  return link?.role === "reload" ? Math.min(1, plan.shutdownTimeout) : plan.shutdownTimeout;
}

function logCrash(target: RunTarget, error: unknown, origin: string): void {
  const message = origin === "unhandledRejection" ? "unhandled rejection" : "uncaught exception";
  try {
    target.logger.error(`${message}: the process drains and exits`, { error });
  } catch {
    process.stderr.write(`stoa: ${message}\n`);
  }
}
