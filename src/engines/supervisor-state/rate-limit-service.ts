import type { LendingLimiter, Loan } from "../../batteries/rate-limit/loans.js";
import { MemoryRateLimitStore } from "../../batteries/rate-limit/memory-store.js";
import type { RateLimiter, RatePolicy, RateVerdict } from "../../batteries/rate-limit/store.js";
import { is } from "../../kit/options.js";
import type { SharedMemory } from "../../server/process/shared-memory.js";
import { ExchangeError } from "../../server/worker-messages/messages.js";
import type { HubService, HubWorker } from "../../server/worker-messages/service.js";
import { checkPart, objectWith } from "./calls.js";
import { SharedRateLimiter } from "./shared-rate-limit.js";

/** Messages of a worker. Policies are known by a number that the worker has chosen. */
export type RateMessage =
  /** `isRest` is true if the worker sends only what has no place in the shared memory. */
  | readonly ["policy", index: number, policy: RatePolicy, isRest?: boolean]
  /** `want` is above 0 if the worker would borrow as many; it has returned its last loan then. */
  | readonly ["take", index: number, key: string, limit: number, want: number, cost?: number]
  /** The worker has used much of its loan, and would have another one behind it. */
  | readonly ["renew", index: number, key: string, limit: number, want: number]
  /** The part of its first loan that has been used so far. */
  | readonly ["used", index: number, key: string, used: number]
  /** Its first loan is over. */
  | readonly ["back", index: number, key: string, used: number];

export type RateReply = readonly [
  allowed: 0 | 1,
  remaining: number,
  resetMs: number,
  retryMs: number,
  tokens: number,
  lifeMs: number,
];

/** Asks a worker to end its loans; it replies with the number of requests used of the first. */
export type RecallMessage = readonly ["recall", index: number, key: string];

interface Lent {
  readonly loan: Loan;
  readonly endsAt: number;
  used: number;
}

interface Waiting {
  readonly limit: number;
  readonly cost: number;
  readonly resolve: (reply: RateReply) => void;
}

/** Of one client to one worker: the one that is being used, and the one behind it. */
const maxLoansOfWorker = 2;
/** The smallest loan that is worth its messages. */
const minLoan = 4;
/** Loans at a time, of all clients. */
const maxLoans = 10_000;
/** Milliseconds after its end at which a loan that was never returned counts as used. */
const grace = 1000;

const allOfIt = Number.POSITIVE_INFINITY;

const ratePolicy = objectWith<RatePolicy>({
  name: is.string,
  kind: is.oneOf("token_bucket", "sliding_window"),
  windowMs: is.number(1),
  maxKeys: is.number(1),
});

/**
 * Counts the requests of all workers. A worker with a busy client borrows some of the client's requests, as long as the
 * client is far from its limit. Before a client is refused, all its loans are recalled: so none lies idle elsewhere.
 */
export class RateLimitService implements HubService {
  readonly #counts = new Map<string, Counts>();
  /** By the numbers that a worker gives its limits. */
  readonly #byWorker = new Map<HubWorker, Map<number, Counts>>();
  readonly #memory: SharedMemory | null;
  readonly #clock: () => number;
  #timer: NodeJS.Timeout | null = null;

  /** `memory` is that of the workers, if they share one. */
  constructor(memory: SharedMemory | null = null, clock: () => number = () => performance.now()) {
    this.#memory = memory;
    this.#clock = clock;
  }

  hear(worker: HubWorker, message: RateMessage): RateReply | Promise<RateReply> | undefined {
    const [kind, index, , ...numbers] = message;
    if (kind === "policy") {
      checkPart("the number of a policy", index, is.number());
      checkPart("the policy", message[2], ratePolicy);
      this.#join(worker, index, message[2], message[3] === true);
      return undefined;
    }
    const counts = this.#byWorker.get(worker)?.get(index);
    if (counts === undefined) throw new Error("the worker has not announced this rate limit");
    // A reply may come much later, where no code would catch what the limiter throws for a strange value.
    checkPart("the key", message[2], is.string);
    if (numbers.length === 0 || !numbers.every(Number.isFinite))
      throw new ExchangeError("the message cannot be read: it must have numbers");
    if (kind === "take" || kind === "renew") {
      checkPart("the size of a loan", message[4], is.number());
      this.#timer ??= setTimeout(this.#sweep, grace).unref();
      return counts[kind](worker, message[2], message[3], message[4], message[5] ?? 1);
    }
    counts.report(worker, message[2], message[3], kind === "back");
    return undefined;
  }

  leave(worker: HubWorker): void {
    this.#leave(worker, true);
  }

  lost(worker: HubWorker): void {
    this.#leave(worker, false);
  }

  #leave(worker: HubWorker, hasEnded: boolean): void {
    for (const counts of new Set(this.#byWorker.get(worker)?.values())) counts.leave(worker, hasEnded);
    this.#byWorker.delete(worker);
  }

  #join(worker: HubWorker, index: number, policy: RatePolicy, isRest: boolean): void {
    const name = JSON.stringify(policy);
    let counts = this.#counts.get(name);
    if (counts === undefined) this.#counts.set(name, (counts = new Counts(policy, this.#memory, this.#clock)));
    let list = this.#byWorker.get(worker);
    if (list === undefined) this.#byWorker.set(worker, (list = new Map()));
    list.set(index, counts);
    counts.join(worker, index, isRest);
  }

  readonly #sweep = (): void => {
    this.#timer = null;
    let left = 0;
    for (const counts of this.#counts.values()) left += counts.sweep();
    if (left > 0) this.#timer = setTimeout(this.#sweep, grace).unref();
  };
}

/** The counts of one policy. */
class Counts {
  readonly #limiter: LendingLimiter;
  readonly #clock: () => number;
  /** The number of the policy in each worker. */
  readonly #workers = new Map<HubWorker, number>();
  /** Loans by key and worker, in the order of their use. */
  readonly #loans = new Map<string, Map<HubWorker, Lent[]>>();
  #lent = 0;
  /** Keys whose loans are being recalled, with the requests that wait for the end of it. */
  readonly #recalls = new Map<string, Waiting[]>();
  /** Counts in the memory of the workers for those that cannot use it: their package may have been replaced. */
  readonly #shared: RateLimiter | null;
  readonly #outside = new Set<HubWorker>();

  constructor(policy: RatePolicy, memory: SharedMemory | null, clock: () => number) {
    this.#limiter = new MemoryRateLimitStore().limiter(policy);
    this.#clock = clock;
    this.#shared = memory && new SharedRateLimiter(memory, policy, { take: (...given) => this.#takeRest(...given) });
  }

  join(worker: HubWorker, index: number, isRest: boolean): void {
    this.#workers.set(worker, index);
    if (this.#shared !== null && !isRest) this.#outside.add(worker);
  }

  take(worker: HubWorker, key: string, limit: number, want: number, cost: number): RateReply | Promise<RateReply> {
    if (!this.#outside.has(worker)) return this.#take(worker, key, limit, want, cost);
    const verdict = this.#shared!.take(key, limit, cost);
    return verdict instanceof Promise ? verdict.then((given) => replyOf(given, null)) : replyOf(verdict, null);
  }

  async #takeRest(key: string, limit: number, cost = 1): Promise<RateVerdict> {
    const [allowed, remaining, resetMs, retryMs] = await this.#take(null, key, limit, 0, cost);
    return { allowed: allowed === 1, remaining, resetMs, retryMs };
  }

  #take(
    worker: HubWorker | null,
    key: string,
    limit: number,
    want: number,
    cost: number,
  ): RateReply | Promise<RateReply> {
    const waiting = this.#recalls.get(key);
    if (waiting !== undefined) return new Promise((resolve) => waiting.push({ limit, cost, resolve }));
    const verdict = this.#limiter.take(key, limit, cost) as RateVerdict;
    if (!verdict.allowed) {
      if (this.#loans.has(key)) return this.#recall(key, limit, cost);
      return replyOf(verdict, null);
    }
    const mayBorrow = worker !== null && want > 0 && !this.#loans.get(key)?.has(worker);
    return replyOf(verdict, mayBorrow ? this.#lend(worker, key, limit, want, verdict.remaining) : null);
  }

  /** Lends without counting a request. */
  renew(worker: HubWorker, key: string, limit: number, want: number): RateReply {
    const verdict = { allowed: true, retryMs: 0, ...this.#limiter.look(key, limit) };
    const mayBorrow = !this.#recalls.has(key);
    return replyOf(verdict, mayBorrow ? this.#lend(worker, key, limit, want, verdict.remaining) : null);
  }

  report(worker: HubWorker, key: string, used: number, isOver: boolean): void {
    const lent = this.#loans.get(key)?.get(worker)?.[0];
    if (lent === undefined) return;
    lent.used = Math.max(lent.used, used);
    if (isOver) this.#end(worker, key, lent.used);
  }

  /**
   * Requests that a worker borrowed and did not use before it ended are the client's again. A worker that has not ended can
   * use its loans until it learns that they are over.
   */
  leave(worker: HubWorker, hasEnded: boolean): void {
    this.#workers.delete(worker);
    this.#outside.delete(worker);
    for (const [key, byWorker] of this.#loans) {
      const [first] = byWorker.get(worker) ?? [];
      if (first !== undefined) this.#endAll(worker, key, hasEnded ? first.used : allOfIt);
    }
  }

  /** Ends loans that are long over. Returns the number of those that are left. */
  sweep(): number {
    const now = this.#clock();
    for (const [key, byWorker] of this.#loans) {
      for (const [worker, lents] of byWorker) {
        while (lents.length > 0 && lents[0]!.endsAt + grace <= now) this.#end(worker, key, allOfIt);
      }
    }
    return this.#lent;
  }

  #lend(worker: HubWorker, key: string, limit: number, want: number, remaining: number): Loan | null {
    const share = Math.min(want, Math.floor(remaining / (2 * this.#workers.size)));
    let byWorker = this.#loans.get(key);
    const lents = byWorker?.get(worker) ?? [];
    if (share < minLoan || this.#lent >= maxLoans || lents.length >= maxLoansOfWorker) return null;
    const loan = this.#limiter.lend(key, limit, share);
    if (loan === null) return null;
    if (byWorker === undefined) this.#loans.set(key, (byWorker = new Map()));
    lents.push({ loan, endsAt: this.#clock() + loan.life, used: 0 });
    byWorker.set(worker, lents);
    this.#lent++;
    return loan;
  }

  /** Ends the first loan of a worker. */
  #end(worker: HubWorker, key: string, used: number): void {
    const byWorker = this.#loans.get(key);
    const lents = byWorker?.get(worker);
    const lent = lents?.shift();
    if (byWorker === undefined || lents === undefined || lent === undefined) return;
    if (lents.length === 0) byWorker.delete(worker);
    if (byWorker.size === 0) this.#loans.delete(key);
    this.#lent--;
    this.#limiter.settle(key, lent.loan, Math.max(0, lent.loan.tokens - used));
  }

  #endAll(worker: HubWorker, key: string, used: number): void {
    this.#end(worker, key, used);
    // Nothing of the others is used, unless nothing is known of the worker.
    while (this.#loans.get(key)?.has(worker)) this.#end(worker, key, used === allOfIt ? allOfIt : 0);
  }

  /** The reply to a request that is refused unless a loan comes back. */
  #recall(key: string, limit: number, cost: number): Promise<RateReply> {
    const waiting: Waiting[] = [];
    this.#recalls.set(key, waiting);
    const replied = new Promise<RateReply>((resolve) => waiting.push({ limit, cost, resolve }));
    const holders = [...(this.#loans.get(key)?.keys() ?? [])];
    const recalled = holders.map(async (worker) => {
      const question: RecallMessage = ["recall", this.#workers.get(worker) ?? -1, key];
      // A worker that does not reply in time may have used it all. One that has ended replies undefined.
      const answer = await worker.ask(question).catch(() => null);
      const known = this.#loans.get(key)?.get(worker)?.[0]?.used ?? 0;
      this.#endAll(worker, key, answer === undefined ? known : typeof answer === "number" ? answer : allOfIt);
    });
    void Promise.all(recalled).then(() => {
      this.#recalls.delete(key);
      for (const one of waiting) {
        one.resolve(replyOf(this.#limiter.take(key, one.limit, one.cost) as RateVerdict, null));
      }
    });
    return replied;
  }
}

function replyOf({ allowed, remaining, resetMs, retryMs }: RateVerdict, loan: Loan | null): RateReply {
  const left = remaining - (loan?.tokens ?? 0);
  return [allowed ? 1 : 0, left, resetMs, retryMs, loan?.tokens ?? 0, loan?.life ?? 0];
}
