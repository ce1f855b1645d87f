import { RecentMap } from "../../batteries/rate-limit/recent-map.js";
import type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "../../batteries/rate-limit/store.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { ExchangeError } from "../../server/worker-messages/messages.js";
import type { RateMessage, RateReply, RecallMessage } from "./rate-limit-service.js";

const service = "rate limit";
/** Loans grow while they are used up: from this many requests to that many. */
const firstLoan = 8;
const largestLoan = 4096;
/** Milliseconds for which a loan should last: one that is used up sooner is followed by a larger one. */
const goodLoan = 50;
/** Milliseconds. A report for each turn of the event loop was measured: it cost more than the rest of the limit. */
const reportAfter = 5;

/** Counts requests in the supervisor. */
export class SupervisedRateLimitStore implements RateLimitStore {
  readonly #link: SupervisorLink;
  readonly #isRest: boolean;
  readonly #limiters: SupervisedRateLimiter[] = [];

  /** `isRest` is true if it counts only what has no place in the memory that this worker shares. */
  constructor(link: SupervisorLink, isRest = false) {
    this.#link = link;
    this.#isRest = isRest;
    link.serve(service, {
      hear: ([, index, key]: RecallMessage) => this.#limiters[index]?.recall(key),
      resync: () => {
        for (const limiter of this.#limiters) limiter.join();
      },
    });
  }

  limiter(policy: RatePolicy): RateLimiter {
    const limiter = new SupervisedRateLimiter(this.#link, this.#limiters.length, policy, this.#isRest);
    this.#limiters.push(limiter);
    limiter.join();
    return limiter;
  }
}

/** A client as this worker knows it. Times are those of the clock of this process. */
interface Client {
  /** Its key while it has a loan. */
  key: string;
  limit: number;
  /** Requests borrowed, those of them that were used, and the part of them that the supervisor knows of. */
  borrowed: number;
  used: number;
  reported: number;
  beganAt: number;
  endsAt: number;
  /** The loan behind this one, so that no request waits when this one is used up. */
  next: { readonly tokens: number; readonly endsAt: number } | null;
  renewing: boolean;
  /** Nothing was lent, because the client is near its limit: until then each request asks for itself. */
  alone: number;
  /** The number of requests to borrow next. */
  want: number;
  /** Requests that wait for the reply to a wish to borrow; null while there is none. */
  waiting: (() => void)[] | null;
  askedAt: number;
  /** The supervisor's last words. */
  remaining: number;
  resetAt: number;
  /** The client is over its limit until then, in every worker. */
  refusedUntil: number;
  /** The cost of the request that was refused: one that costs less may be allowed. */
  refusedCost: number;
}

class SupervisedRateLimiter implements RateLimiter {
  readonly #link: SupervisorLink;
  readonly #index: number;
  readonly #policy: RatePolicy;
  readonly #isRest: boolean;
  readonly #clients: RecentMap<Client>;
  /** Clients with a loan. */
  readonly #borrowers = new Map<string, Client>();
  /** Borrowers that have used more than the supervisor knows of. */
  #unreported: Client[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(link: SupervisorLink, index: number, policy: RatePolicy, isRest: boolean) {
    this.#link = link;
    this.#index = index;
    this.#isRest = isRest;
    this.#policy = policy;
    this.#clients = new RecentMap(policy.maxKeys, policy.windowMs);
  }

  /** Announces the policy. What was borrowed before is forgotten. */
  join(): void {
    for (const [key, client] of this.#borrowers) this.#forget(key, client);
    this.#tell(["policy", this.#index, this.#policy, this.#isRest]);
  }

  take(key: string, limit: number, cost = 1): RateVerdict | Promise<RateVerdict> {
    const now = performance.now();
    const client = this.#clients.get(key, now);
    if (client !== undefined) {
      if (client.refusedUntil > now && limit <= client.limit && cost === client.refusedCost) {
        const { remaining, resetAt, refusedUntil } = client;
        return { allowed: false, remaining, resetMs: resetAt - now, retryMs: refusedUntil - now };
      }
      if (limit === client.limit && (client.used < client.borrowed || client.next !== null)) {
        if (client.used === client.borrowed || client.endsAt <= now) this.#turn(key, client, now);
        if (client.used + cost <= client.borrowed) return this.#use(client, now, cost);
      }
    }
    return this.#ask(key, limit, cost, client, now);
  }

  /** Ends the loan of a client. Returns the number of requests used; undefined if the loan has been returned already. */
  recall(key: string): number | undefined {
    const client = this.#borrowers.get(key);
    if (client === undefined) return undefined;
    const { used } = client;
    this.#forget(key, client);
    client.want = 0;
    return used;
  }

  #use(client: Client, now: number, cost: number): RateVerdict {
    if (client.used === client.reported && this.#unreported.push(client) === 1) {
      setTimeout(this.#report, reportAfter).unref();
    }
    client.used += cost;
    if (client.used * 2 >= client.borrowed && client.next === null && !client.renewing) this.#renew(client, now);
    const { windowMs, kind } = this.#policy;
    const later = kind === "token_bucket" ? (client.used * windowMs) / client.limit : 0;
    return {
      allowed: true,
      remaining: client.remaining + client.borrowed - client.used + (client.next?.tokens ?? 0),
      resetMs: Math.max(0, client.resetAt - now) + later,
      retryMs: 0,
    };
  }

  /** Ends the loan of a client, and begins the one behind it if that has not ended too. */
  #turn(key: string, client: Client, now: number): void {
    const { next } = client;
    this.#endLoan(key, client, now);
    if (next === null || client.borrowed > 0) return;
    if (next.endsAt > now) this.#begin(key, client, next.tokens, next.endsAt, now);
    else this.#tell(["back", this.#index, key, 0]);
  }

  #begin(key: string, client: Client, tokens: number, endsAt: number, now: number): void {
    Object.assign(client, { key, borrowed: tokens, used: 0, reported: 0, beganAt: now, endsAt });
    this.#borrowers.set(key, client);
    this.#timer ??= setTimeout(this.#sweep, 50).unref();
  }

  /** Asks for another loan in time. */
  #renew(client: Client, now: number): void {
    if (!this.#link.responsive) return;
    const { key, limit, borrowed } = client;
    const isShort = (now - client.beganAt) * 2 < goodLoan;
    const want = isShort ? Math.min(largestLoan, 2 * borrowed) : borrowed;
    const message: RateMessage = ["renew", this.#index, key, limit, want];
    client.renewing = true;
    this.#link.request(service, message, (error, value) => {
      client.renewing = false;
      // Without another loan the request after the last one of this loan asks for itself.
      if (error !== null) return;
      const [, remaining, resetMs, , tokens, lifeMs] = value as RateReply;
      if (tokens === 0) return;
      client.remaining = remaining;
      client.resetAt = now + resetMs;
      client.want = tokens;
      if (client.borrowed > 0) client.next = { tokens, endsAt: now + lifeMs };
      else this.#begin(key, client, tokens, now + lifeMs, now);
    });
  }

  #ask(
    key: string,
    limit: number,
    cost: number,
    known: Client | undefined,
    now: number,
  ): RateVerdict | Promise<RateVerdict> {
    if (!this.#link.responsive) throw new ExchangeError("the supervisor does not reply");
    let client = known;
    if (client === undefined) this.#clients.add(key, (client = newClient(limit)), now);
    const { waiting } = client;
    if (waiting !== null) return new Promise((resolve) => waiting.push(() => resolve(this.#again(key, limit, cost))));
    // Loans hold for the limit that they were lent under.
    if (limit !== client.limit) this.#returnAll(key, client);
    else this.#endLoan(key, client, now);
    const mayBorrow = now >= client.alone && !this.#borrowers.has(key);
    // A client that comes seldom borrows nothing: the loan would have to be returned.
    const want = mayBorrow && now - client.askedAt < 100 ? Math.max(firstLoan, client.want) : 0;
    if (want > 0) client.waiting = [];
    client.askedAt = now;
    const one = client;
    return new Promise((resolve, reject) => {
      const message: RateMessage = ["take", this.#index, key, limit, want, cost];
      this.#link.request(service, message, (error, value) => {
        if (error !== null) reject(error);
        else {
          one.refusedCost = cost;
          resolve(this.#learn(key, one, limit, value as RateReply, now, want));
        }
        if (want === 0) return;
        const others = one.waiting ?? [];
        one.waiting = null;
        for (const proceed of others) proceed();
      });
    });
  }

  /** A request that has waited for a loan uses it, or asks for itself. */
  async #again(key: string, limit: number, cost: number): Promise<RateVerdict> {
    return this.take(key, limit, cost);
  }

  #learn(key: string, client: Client, limit: number, reply: RateReply, askedAt: number, want: number): RateVerdict {
    const [allowed, remaining, resetMs, retryMs, tokens, lifeMs] = reply;
    client.limit = limit;
    client.remaining = remaining;
    // Counted from the time of asking, so that no client waits longer than it has to, and no loan is used too late.
    client.resetAt = askedAt + resetMs;
    client.refusedUntil = allowed === 1 ? 0 : askedAt + retryMs;
    if (tokens > 0) {
      this.#begin(key, client, tokens, askedAt + lifeMs, askedAt);
      client.want = Math.min(largestLoan, 2 * want);
    } else if (want > 0) client.alone = performance.now() + 100;
    // A loan that was asked for earlier may have come in between.
    const unused = client.borrowed - client.used;
    return { allowed: allowed === 1, remaining: remaining + unused, resetMs, retryMs };
  }

  /** Returns a loan that is over or used up. */
  #endLoan(key: string, client: Client, now: number): void {
    const isUsedUp = client.used === client.borrowed;
    if (client.borrowed === 0 || (!isUsedUp && client.endsAt > now)) return;
    this.#tell(["back", this.#index, key, client.used]);
    if (!isUsedUp) {
      client.want = Math.max(firstLoan, client.used);
      client.remaining += client.borrowed - client.used;
    }
    this.#forget(key, client);
  }

  #returnAll(key: string, client: Client): void {
    if (client.borrowed === 0) return;
    this.#tell(["back", this.#index, key, client.used]);
    if (client.next !== null) this.#tell(["back", this.#index, key, 0]);
    this.#forget(key, client);
  }

  #forget(key: string, client: Client): void {
    this.#borrowers.delete(key);
    client.borrowed = client.used = client.reported = 0;
    client.next = null;
    client.key = "";
  }

  /** Should this worker be killed, its clients get back what they did not use. */
  readonly #report = (): void => {
    const unreported = this.#unreported;
    this.#unreported = [];
    for (const client of unreported) {
      if (client.used === client.reported) continue;
      client.reported = client.used;
      this.#tell(["used", this.#index, client.key, client.used]);
    }
  };

  readonly #sweep = (): void => {
    this.#timer = null;
    const now = performance.now();
    for (const [key, client] of this.#borrowers) if (client.endsAt <= now) this.#turn(key, client, now);
    if (this.#borrowers.size > 0) this.#timer = setTimeout(this.#sweep, 50).unref();
  };

  #tell(message: RateMessage): void {
    this.#link.tell(service, message);
  }
}

function newClient(limit: number): Client {
  return {
    key: "",
    limit,
    borrowed: 0,
    used: 0,
    reported: 0,
    beganAt: 0,
    endsAt: 0,
    next: null,
    renewing: false,
    want: 0,
    waiting: null,
    alone: 0,
    askedAt: Number.NEGATIVE_INFINITY,
    remaining: 0,
    resetAt: 0,
    refusedUntil: 0,
    refusedCost: 0,
  };
}
