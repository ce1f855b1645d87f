import { named } from "./conclude.js";
import type { Held } from "./held.js";
import type { WorkPlace } from "./place.js";
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
  held: Held,
  place: WorkPlace,
): Promise<HeldClaim | { readonly kind: "duplicate" } | { readonly kind: "busy"; readonly delay: number }> {
  const { settings, store } = place;
  if (store === null) return free;
  const id = `${settings.group}:${place.topic}:${held.delivery.record.id}`;
  const silent = (error: unknown) =>
    place.logger.warn("the store of message ids does not respond", { ...named(held), error });
  let claim: Claim | "done" | "busy";
  try {
    claim = await store.begin(id, lease);
  } catch (error) {
    // Without the store nobody knows if the message has been handled: the handler must not run.
    silent(error);
    return { kind: "busy", delay: busyPause };
  }
  if (claim === "done") return { kind: "duplicate" };
  if (claim === "busy") return { kind: "busy", delay: busyPause };
  const mine = claim;
  const renewal = setInterval(() => void renew(held, mine), lease / 3);
  return {
    async end(handled) {
      clearInterval(renewal);
      // The handler has run: the message is done, though a second delivery would not be noticed.
      await (handled ? mine.done(settings.idempotent!.keep) : mine.release()).catch(silent);
    },
  };
}

async function renew(held: Held, claim: Claim): Promise<void> {
  const kept = await claim.renew(lease).catch(() => true);
  if (!kept) held.lose();
}
