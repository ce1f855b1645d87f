import { MemoryRevocations, type RevocationStore } from "../../auth/jwt/revocations.js";
import type { SupervisorLink } from "../../server/exchange/link.js";
import type { HubService, HubWorker } from "../../server/exchange/service.js";
import { Members } from "./members.js";

const service = "revoked tokens";

type Revoked = readonly [id: string, until: number];

/** Messages of a worker. */
type RevocationMessage = readonly ["join"] | readonly ["add", id: string, until: number];

/** Revoked tokens of all workers. Each worker knows all of them. */
export class RevocationService implements HubService {
  readonly #revoked = new MemoryRevocations();
  readonly #members = new Members();

  hear(worker: HubWorker, message: RevocationMessage): unknown {
    if (message[0] === "join") {
      this.#members.join(worker);
      return this.#revoked.list();
    }
    const [, id, until] = message;
    // Of two workers that revoke the same token one gets true; both know that all others refuse it.
    const isNew = this.#revoked.add(id, until);
    return this.#members.askAll([id, until] satisfies Revoked).then(() => isNew);
  }

  leave(worker: HubWorker): void {
    this.#members.leave(worker);
  }

  lost(worker: HubWorker): void {
    this.#members.leave(worker);
  }
}

/**
 * Revoked tokens that the supervisor shares. A worker looks into its own copy, so a request costs no message. A token is
 * revoked when all workers have confirmed it; if one does not, the call fails.
 */
export class MachineRevocations implements RevocationStore {
  readonly #link: SupervisorLink;
  readonly #copy = new MemoryRevocations();
  /** Null when the copy is complete. */
  #joining: Promise<void> | null = null;

  /** `known` are tokens that were revoked before the start. */
  constructor(link: SupervisorLink, known: MemoryRevocations) {
    this.#link = link;
    link.serve(service, {
      hear: (revoked: Revoked) => this.#copy.add(...revoked),
      resync: () => void this.#join(),
    });
    for (const revoked of known.list()) link.tell(service, ["add", ...revoked] satisfies RevocationMessage);
    void this.#join();
  }

  has(id: string): boolean | Promise<boolean> {
    if (this.#joining === null || this.#copy.has(id)) return this.#copy.has(id);
    return this.#joining.then(() => this.#copy.has(id));
  }

  async add(id: string, until: number): Promise<boolean> {
    return (await this.#link.ask(service, ["add", id, until] satisfies RevocationMessage)) as boolean;
  }

  /** Until the copy is complete, nobody can say that a token is not revoked. */
  #join(): Promise<void> {
    const joining = new Promise<void>((resolve, reject) => {
      this.#link.request(service, ["join"] satisfies RevocationMessage, (error, list) => {
        if (error !== null) return reject(error);
        for (const revoked of list as readonly Revoked[]) this.#copy.add(...revoked);
        if (this.#joining === joining) this.#joining = null;
        resolve();
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
