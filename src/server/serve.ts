import { within } from "../kit/time/within.js";
import { type ChosenTransport, chooseTransport } from "./choose-transport.js";
import { createNetTransport } from "./http1/transport.js";
import { http2Streams } from "./http2/streams.js";
import { createNativeTransport } from "./native/transport.js";
import { handshakeFailed, Refusals } from "./refusals.js";
import type { RunPlan } from "./run-options.js";
import type { RunTarget } from "./run-target.js";
import { listenError } from "./start-error.js";
import type { ListenAddress, Transport, TransportFactory } from "./transport.js";

/** An application that listens, in this process. */
export interface Service {
  readonly address: ListenAddress;
  /** Requests that were refused before the application saw them. */
  readonly refusals: Refusals;
  /** Reads the files of certificates and keys again. */
  reloadCertificates(): void;
  /**
   * Waits for requests in flight, ends the rest, runs the shutdown hooks. False if one of these failed. `replaced` is true if
   * another process serves already.
   */
  close(seconds: number, replaced?: boolean): Promise<boolean>;
}

/** Runs the startup hooks, then listens; rejects when either fails, with nothing left behind. */
export async function serve(target: RunTarget, plan: RunPlan): Promise<Service> {
  const keeper = plan.tls && new (await import("./tls/keeper.js")).TlsKeeper(plan.tls, target.logger);
  const chosen = chooseTransport(plan);
  const createTransport =
    plan.http2 === null ? await loadTransport(chosen) : (await import("./http2/transport.js")).createHttp2Transport;
  target.configure({ ...plan.settings, transport: chosen });
  await target.start();
  const refusals = new Refusals(target);
  const transport = createTransport(target.dispatch, {
    ...plan.limits,
    tls: keeper?.options ?? null,
    onSecureServer: (server) => keeper?.attach(server),
    onHandshakeError: (error) => {
      refusals.addHandshake(error);
      target.refused?.(handshakeFailed);
    },
    onError: (error) => target.logger.error("a response could not be completed", { error }),
    onRefusal: (error) => {
      refusals.add(error);
      target.refused?.(error.code);
    },
    onAbuse: (code) => {
      refusals.addConnection(code);
      target.refused?.(code);
    },
    ...(plan.http2 !== null && { http2: plan.http2, http2Streams: http2Streams(target) }),
  });
  try {
    const address = await transport.listen(plan.address);
    let closing: Promise<boolean> | undefined;
    return {
      address,
      refusals,
      reloadCertificates: () => keeper?.reload(),
      close: (seconds, replaced = false) => {
        keeper?.close();
        return (closing ??= close(target, transport, seconds, replaced));
      },
    };
  } catch (error) {
    keeper?.close();
    await stop(target);
    throw listenError(error, plan.address);
  }
}

export async function loadTransport({ name }: ChosenTransport): Promise<TransportFactory> {
  if (name === "native") return createNativeTransport;
  return name === "node" ? (await import("./node/transport.js")).createNodeTransport : createNetTransport;
}

async function close(target: RunTarget, transport: Transport, seconds: number, replaced: boolean): Promise<boolean> {
  const end = performance.now() + seconds * 1000;
  // The shutdown hooks need their share even when a client never closes its connection.
  const share = Math.min(1000, seconds * 200);
  target.beginDrain(replaced);
  await turns(3);
  const drained = await within(
    transport.drain(replaced).then(() => true),
    seconds * 1000 - share,
  );
  if (!drained) transport.destroy();
  const stopped = await within(stop(target), Math.max(end - performance.now(), share));
  if (stopped === undefined) target.logger.error("the shutdown hooks did not end in time");
  transport.destroy();
  return stopped === true;
}

/**
 * Lets the event loop come round: to accept connections that the system holds for it, to read them, to begin their requests.
 * After a loop that was busy there are such, and closing the listener would reset them.
 */
async function turns(count: number): Promise<void> {
  while (count-- > 0) await new Promise((resolve) => setImmediate(resolve));
}

async function stop(target: RunTarget): Promise<boolean> {
  try {
    return (await target.stop()) !== false;
  } catch (error) {
    target.logger.error("a shutdown hook failed", { error });
    return false;
  }
}
