import type {
  Admission,
  Breaker,
  BreakerPolicy,
  BreakerSnapshot,
  BreakerState,
  BreakerStore,
  Outcome,
} from "../../../batteries/circuit-breaker/store.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";
import { admitLua, reportLua, snapshotLua } from "./circuits-lua.js";

/** Milliseconds for which a closed circuit is believed to be closed: so a busy route asks ten times a second. */
const believedMs = 100;
/** Milliseconds after which to try again while all probes are on their way. */
const probesBusyMs = 1000;
/** Milliseconds after which the place of a probe is free again whose process has died. */
const probeLeaseMs = 60_000;

type AdmitReply = [state: number, epoch: string, waitMs: string, failures: number, changed: number];
type ReportReply = [changed: number, failures: number];
type SnapshotReply = [state: number, failures: number, successes: number, waitMs: string];

interface Scripts {
  readonly admit: KvScript<AdmitReply>;
  readonly report: KvScript<ReportReply>;
  readonly snapshot: KvScript<SnapshotReply>;
}

/** Circuits in the key-value store: one that opens is open for all processes. */
export class KvBreakerStore implements BreakerStore {
  readonly #scripts: Scripts;

  constructor(kv: KvStore) {
    this.#scripts = {
      admit: kv.script(admitLua),
      report: kv.script(reportLua),
      snapshot: kv.script(snapshotLua),
    };
  }

  breaker(policy: BreakerPolicy, onChange: (state: BreakerState) => void): Breaker {
    return new KvBreaker(this.#scripts, policy, onChange);
  }
}

/** States as the scripts number them. */
const states = ["closed", "half-open", "open"] as const;

class KvBreaker implements Breaker {
  readonly #scripts: Scripts;
  readonly #policy: BreakerPolicy;
  readonly #onChange: (state: BreakerState) => void;
  readonly #keys: readonly string[];
  /** Closed until then, with this epoch: each state has its own, so that late reports have no say. */
  #closedUntil = 0;
  #epoch = 0;
  #openUntil = 0;
  /** Failures in a row that may have been counted; a success need not be reported where there is none. */
  #failures = 0;
  #asking: Promise<AdmitReply> | null = null;
  /** Probes that this process has sent, by ticket. Tickets of probes are negative. */
  readonly #probes = new Map<number, { readonly epoch: string; readonly id: string }>();
  #lastProbe = 0;

  constructor(scripts: Scripts, policy: BreakerPolicy, onChange: (state: BreakerState) => void) {
    this.#scripts = scripts;
    this.#policy = policy;
    this.#onChange = onChange;
    // Braces keep both keys on one server of a cluster.
    const key = `circuit:{${policy.route}}`;
    this.#keys = [key, `${key}:probes`];
  }

  admit(): Admission | Promise<Admission> {
    const now = performance.now();
    if (now < this.#closedUntil) return { ticket: this.#epoch, waitMs: 0 };
    if (now < this.#openUntil) return { ticket: 0, waitMs: this.#openUntil - now };
    return this.#admit();
  }

  async report(ticket: number, outcome: Outcome): Promise<void> {
    const probe = this.#probes.get(ticket);
    this.#probes.delete(ticket);
    if (probe === undefined) {
      if (outcome === "neither" || (outcome === "success" && this.#failures === 0)) return;
      // Before the reply: a success that follows at once must be reported.
      if (outcome === "failure") this.#failures++;
    }
    const { failureThreshold, halfOpenTarget, resetMs } = this.#policy;
    const epoch = probe?.epoch ?? String(ticket);
    const args = [epoch, outcome, probe?.id ?? "", failureThreshold, halfOpenTarget, resetMs];
    const [changed, failures] = await this.#scripts.report.run(this.#keys, args);
    if (probe === undefined) this.#failures = failures;
    this.#changed(changed);
  }

  async snapshot(): Promise<BreakerSnapshot> {
    const [state, failures, successes, wait] = await this.#scripts.snapshot.run(this.#keys, [this.#policy.resetMs]);
    const retryAfter = Math.ceil(Number(wait) / 1000);
    return {
      route: this.#policy.route,
      state: states[state] ?? "closed",
      failures,
      successes,
      retry_after: retryAfter,
    };
  }

  async #admit(): Promise<Admission> {
    const id = nodeCrypto().randomUUID();
    const start = performance.now();
    // Callers that arrive while a request to the store is under way share its reply, unless each needs a
    // separate probe.
    const isOwn = this.#asking === null;
    this.#asking ??= this.#ask(id);
    const reply = await this.#asking;
    const [state, epoch, wait, failures, changed] = reply;
    if (isOwn) this.#changed(changed);
    if (state === 0) {
      this.#epoch = Number(epoch);
      this.#failures = failures;
      this.#closedUntil = start + believedMs;
      return { ticket: this.#epoch, waitMs: 0 };
    }
    this.#closedUntil = 0;
    const waitMs = Number(wait);
    if (state === 2) {
      this.#openUntil = start + waitMs;
      return { ticket: 0, waitMs };
    }
    if (waitMs < 0) return { ticket: 0, waitMs: probesBusyMs };
    // The probe belongs to the caller that started this request. Another caller asks again, at most once per probe,
    // then all probes are busy.
    if (!isOwn) return this.#admit();
    const ticket = --this.#lastProbe;
    this.#probes.set(ticket, { epoch, id });
    return { ticket, waitMs: 0 };
  }

  #ask(id: string): Promise<AdmitReply> {
    const { halfOpenTarget, resetMs } = this.#policy;
    const asking = this.#scripts.admit.run(this.#keys, [id, resetMs, halfOpenTarget, probeLeaseMs]);
    const done = (): void => {
      this.#asking = null;
    };
    asking.then(done, done);
    return asking;
  }

  /** `changed` is the number of the new state and one; 0 for none. */
  #changed(changed: number): void {
    const state = states[changed - 1];
    if (state === undefined) return;
    this.#closedUntil = 0;
    this.#openUntil = 0;
    this.#failures = 0;
    this.#onChange(state);
  }
}
