import { named } from "./conclude.js";
import type { InFlightMessage } from "./in-flight-message.js";
import type { Claim } from "./processed.js";

/** Milliseconds of a claim on a message id; renewed while the handler runs. */
const lease = 30_000;
const busyPause = 1000;

/** The right to handle a message id, with the function that ends it. */
export interface HeldClaim {
  /** The handler has run; true if the message is handled. */
  end(handled: boolean): Promise<void>;
}

const free: HeldClaim = { end: async () => {} };

/** Claims the id of a message, where the consumer handles each id once. */
export async function claimId(
  inFlight: InFlightMessage,
): Promise<HeldClaim | { readonly kind: "duplicate" } | { readonly kind: "busy"; readonly delayMs: number }> {
  const { settings, store, topic, logger } = inFlight.consumer;
  if (store === null) return free;
  const id = `${settings.group}:${topic}:${inFlight.delivery.record.id}`;
  const silent = (error: unknown) =>
    logger.warn("the store of message ids does not respond", { ...named(inFlight), error });
  let claim: Claim | "done" | "busy";
  try {
    claim = await store.begin(id, lease);
  } catch (error) {
    // Without the store it is unknown if the message has been handled: the handler must not run.
    silent(error);
    return { kind: "busy", delayMs: busyPause };
  }
  if (claim === "done") return { kind: "duplicate" };
  if (claim === "busy") return { kind: "busy", delayMs: busyPause };
  const mine = claim;
  const renewal = setInterval(() => void renew(inFlight, mine), lease / 3);
  return {
    async end(handled) {
      clearInterval(renewal);
      // The handler has run: the message is done, though a second delivery would not be noticed.
      await (handled ? mine.done(settings.idempotent!.keep) : mine.release()).catch(silent);
    },
  };
}

async function renew(inFlight: InFlightMessage, claim: Claim): Promise<void> {
  const kept = await claim.renew(lease).catch(() => true);
  if (!kept) inFlight.lose();
}
