import { allTokens, MemoryRevocations, type RevocationStore } from "../../auth/jwt/revocations.js";
import { is } from "../../kit/options.js";
import type { EndingListener } from "../../pipeline/open-authorities.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { Caller, call, callService } from "./calls.js";
import { Members } from "./members.js";

/** `ends` is null for a token that is refreshed: nothing ends with it. */
type Revoked = readonly [id: string, until: number, issuedUpTo: number, ends: string | null];

/** Revoked tokens of all workers. Each worker knows all of them. */
export function revocationService() {
  const revoked = new MemoryRevocations();
  const members = new Members();
  return callService(
    {
      join(worker): [id: string, until: number, issuedUpTo: number][] {
        members.join(worker);
        return revoked.list();
      },
      add: call([is.string, is.number(), is.number(), is.either(is.string, is.oneOf(null))], async (_, ...given) => {
        const [id, until, issuedUpTo] = given;
        // Of two workers that revoke the same token one gets true; both know that all others refuse it.
        const isNew = revoked.add(id, until, undefined, issuedUpTo);
        await members.askAll(given satisfies Revoked);
        return isNew;
      }),
    },
    (worker) => members.leave(worker),
  );
}

/**
 * Revoked tokens that the supervisor shares. A worker looks into its own copy, so a request costs no message. A token is
 * revoked when all workers have confirmed it; if one does not, the call fails.
 */
export class SupervisedRevocations implements RevocationStore {
  readonly #revoked: Caller<ReturnType<typeof revocationService>>;
  readonly #copy = new MemoryRevocations();
  readonly #listeners: EndingListener[] = [];
  /** Null when the copy is complete. */
  #joining: Promise<void> | null = null;

  /** `known` are tokens that were revoked before the start. */
  constructor(link: SupervisorLink, known: MemoryRevocations) {
    this.#revoked = new Caller(link, "revoked tokens");
    link.serve("revoked tokens", {
      hear: ([id, until, issuedUpTo, ends]: Revoked) => this.#copy.add(id, until, ends ?? undefined, issuedUpTo),
      resync: () => void this.#join(),
    });
    for (const revoked of known.list()) this.#revoked.tell("add", ...revoked, null);
    void this.#join();
  }

  has(id: string, issuedAt?: number): boolean | Promise<boolean> {
    const isRevoked = this.#copy.has(id, issuedAt);
    return this.#joining === null || isRevoked ? isRevoked : this.#joining.then(() => this.#copy.has(id, issuedAt));
  }

  add(id: string, until: number, ends?: string, issuedUpTo: number = allTokens): Promise<boolean> {
    return this.#revoked.ask("add", [id, until, issuedUpTo, ends ?? null]);
  }

  watch(listener: EndingListener): void {
    this.#listeners.push(listener);
    this.#copy.watch(listener);
  }

  /** Until the copy is complete, it is unknown whether a token is revoked. */
  #join(): Promise<void> {
    const joining = new Promise<void>((resolve, reject) => {
      this.#revoked.request("join", [], (error, list) => {
        if (error !== null) return reject(error);
        for (const [id, until, issuedUpTo] of list) this.#copy.add(id, until, undefined, issuedUpTo);
        if (this.#joining === joining) this.#joining = null;
        resolve();
        for (const listener of this.#listeners) listener.gap();
      });
    });
    this.#joining = joining;
    // Those that wait are refused with 503; the next ones wait for another attempt.
    joining.catch(() => {
      if (this.#joining === joining) setTimeout(() => void this.#join(), 100).unref();
    });
    return joining;
  }
}
