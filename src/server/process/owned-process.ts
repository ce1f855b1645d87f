import { announce, urlOf } from "../banner.js";
import type { RunPlan } from "../run-options.js";
import type { RunTarget } from "../run-target.js";
import type { RunningServer } from "../running-server.js";
import { type Service, serve } from "../serve.js";
import type { ParentLink } from "./parent-link.js";
import {
  exitCodeOf,
  onHangup,
  onParentSignal,
  onStopSignal,
  survivesBrokenOutput,
  suspendStopSignals,
} from "./signals.js";
import type { Watchdog } from "./watchdog.js";
import { refusedTopic, workerChannel } from "./worker-channel.js";

/** Milliseconds for which a worker with an uncaught error continues to serve, while another is started in its place. */
const replacementTimeout = 15_000;

/** Serves in a process that belongs to the server, from its first signal handler to its exit code. */
export async function serveProcess(target: RunTarget, plan: RunPlan, link: ParentLink | null): Promise<RunningServer> {
  let ending = false;
  let serving = false;
  // Without its watchdog, if the system allows no thread, the process still serves.
  const watching = watch(plan, link).catch(() => null);
  const routes = link && link.routes !== null ? await recordRoutes(target, link.routes, link.refused) : () => "";
  const starting: Promise<Service> = watching.then(() => link?.alone()).then(() => serve(target, plan));

  const end = async (code: number, why: "told" | "replaced" | "crashed" | "lost"): Promise<void> => {
    if (ending) return;
    ending = true;
    void watching.then((watchdog) => watchdog?.stopping());
    void link?.send({ stoa: "leaving", told: why !== "crashed" });
    // Until then it serves: if all workers drained at once, no worker would listen.
    if (why === "crashed" && link?.role === "worker") await link.replaced(replacementTimeout);
    if (why === "told" && link?.role !== "reload" && plan.drainDelay > 0) {
      target.announceDrain?.();
      await new Promise((resolve) => setTimeout(resolve, plan.drainDelay * 1000));
    }
    process.exit((await drained(starting, shutdownSeconds(plan, link), why === "replaced")) ? code : 1);
  };

  // Without a listener to `unhandledRejection`, Node makes an uncaught exception of a rejection, with this origin.
  const onCrash = (error: unknown, origin: string): void => {
    const survives = origin === "unhandledRejection" && serving && plan.unhandledRejections === "log";
    const effect = serving ? "the process drains and exits" : "the start ends, and the process exits";
    const what = origin === "unhandledRejection" ? "unhandled rejection" : `uncaught exception${routes()}`;
    logCrash(target, error, what, survives ? "a promise was rejected without a handler" : effect);
    if (!survives) void end(1, "crashed");
  };

  const releaseSignals = link
    ? onParentSignal(() => void end(0, "told"))
    : onStopSignal((signal, count) => {
        if (count > 1) process.exit(exitCodeOf(signal));
        void end(0, "told");
      });
  process.on("uncaughtException", onCrash);
  link?.onLeave(() => void end(0, "replaced"));
  link?.onLost(() => void end(0, "lost"));
  survivesBrokenOutput();

  const release = (): void => {
    releaseSignals();
    process.off("uncaughtException", onCrash);
  };
  try {
    const { address, close, reloadCertificates } = await starting;
    if (ending) return new Promise(() => {});
    serving = true;
    const releaseHangup = onHangup(() => {
      if (plan.tls) reloadCertificates();
      else if (link === null) target.logger.warn("SIGHUP has no effect: a single process has no workers to replace");
    });
    const watchdog = await watching;
    watchdog?.arm();
    await report(target, plan, link, address);
    return {
      address,
      url: urlOf(address, plan.tls !== null),
      close: async () => {
        release();
        releaseHangup();
        watchdog?.stop();
        await close(plan.shutdownTimeout);
      },
    };
  } catch (error) {
    if (ending) return new Promise(() => {});
    release();
    throw error;
  }
}

/** Resolves to what tells the routes that run. */
async function recordRoutes(target: RunTarget, file: number, refused: readonly string[]): Promise<() => string> {
  const { RouteRecorder, whileItRan } = await import("./running-routes.js");
  const recorder = new RouteRecorder(file, refused);
  workerChannel.subscribe(refusedTopic, (data) => {
    if (Array.isArray(data)) recorder.refuse(data);
  });
  target.watchRoutes?.(recorder);
  return () => whileItRan(recorder.running);
}

/** Watches the event loop, and in a worker the supervisor too. The reloader watches over its child itself. */
async function watch(plan: RunPlan, link: ParentLink | null): Promise<Watchdog | null> {
  const supervised = link?.role === "worker";
  if (link?.role === "reload" || (!supervised && plan.stuckTimeout === 0)) return null;
  const { startWatchdog } = await import("./watchdog.js");
  let sending = false;
  return startWatchdog({
    seconds: plan.stuckTimeout,
    parent: supervised ? link.parent : null,
    orphanSeconds: plan.shutdownTimeout,
    // A worker with an uncaught error first waits for another one.
    stopSeconds: plan.drainDelay + plan.shutdownTimeout + (supervised ? replacementTimeout / 1000 : 0),
    // Of a stuck worker the supervisor takes care.
    ...(link === null && { onStuck: suspendStopSignals }),
    report: link?.report ?? null,
    onTurn: (inspected) => {
      // One at a time: a supervisor that does not read them must not fill the memory of its workers.
      if (!supervised || sending) return;
      sending = true;
      void link.send({ stoa: "turn", inspected }).then(() => {
        sending = false;
      });
    },
  });
}

async function report(
  target: RunTarget,
  plan: RunPlan,
  link: ParentLink | null,
  address: Service["address"],
): Promise<void> {
  const links = target.links();
  if (plan.banner && link?.role !== "worker" && !link?.again) announce(target, plan, address, links);
  await link?.send({ stoa: "ready", address, links });
}

/** Closes the service, or waits for a start that is under way to end and closes then. */
async function drained(starting: Promise<Service>, seconds: number, replaced: boolean): Promise<boolean> {
  const began = performance.now();
  const overdue = setTimeout(() => process.exit(1), seconds * 1000);
  try {
    const service = await starting.catch(() => undefined);
    clearTimeout(overdue);
    return (await service?.close(Math.max(0.1, seconds - (performance.now() - began) / 1000), replaced)) ?? true;
  } catch {
    return false;
  }
}

/**
 * While reloading, a client that keeps its connection open is not waited for. A worker ends a little before its
 * supervisor has to.
 */
function shutdownSeconds({ shutdownTimeout }: RunPlan, link: ParentLink | null): number {
  if (link?.role === "reload") return Math.min(1, shutdownTimeout);
  return link === null ? shutdownTimeout : shutdownTimeout - Math.min(0.5, shutdownTimeout / 10);
}

function logCrash(target: RunTarget, error: unknown, what: string, effect: string): void {
  try {
    target.logger.error(`${what}: ${effect}`, { error });
  } catch {
    process.stderr.write(`stoa: ${what}\n`);
  }
}
