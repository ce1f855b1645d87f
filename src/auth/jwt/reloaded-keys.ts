import type { KeyRing } from "./key-set.js";
import type { SigningKey, VerificationKey } from "./keys.js";

/** Times in milliseconds. */
export interface ReloadTimes {
  /** The age at which keys are loaded again, unless the source says it. */
  readonly fresh: number;
  /** Bounds of the age that a source can say. */
  readonly minFresh: number;
  readonly maxFresh: number;
  /** The age at which keys that could not be loaded again are no longer used. */
  readonly usable: number;
  /** The shortest time between two loads. Tokens with an unknown `kid` cause no more than that. */
  readonly pause: number;
}

export const remoteTimes: ReloadTimes = {
  fresh: 10 * 60_000,
  minFresh: 60_000,
  maxFresh: 24 * 3600_000,
  usable: 24 * 3600_000,
  pause: 30_000,
};

/** A file that cannot be read keeps its last keys: it is the operator's own. */
export const fileTimes: ReloadTimes = {
  fresh: 60_000,
  minFresh: 60_000,
  maxFresh: 60_000,
  usable: Number.POSITIVE_INFINITY,
  pause: 5_000,
};

/** After a failure without any keys, requests are refused: so the next attempt comes sooner. */
const pauseWithoutKeys = 2_000;

export interface LoadedKeys {
  readonly ring: KeyRing;
  /** Seconds. */
  readonly maxAge: number | undefined;
}

/**
 * Keys that can change while the process runs. They are loaded again when they are old, and when a token names a key that
 * is not among them; one load at a time, with a pause between two. While a load is under way or has failed, the keys at
 * hand are used.
 */
export class ReloadedKeys implements KeyRing {
  version = 0;
  #ring: KeyRing | null;
  #freshUntil: number;
  #usableUntil: number;
  #nextLoad = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | null = null;
  #failing = false;

  constructor(
    private readonly load: () => Promise<LoadedKeys>,
    private readonly times: ReloadTimes,
    first: KeyRing | null = null,
  ) {
    this.#ring = first;
    this.#freshUntil = first === null ? Number.NEGATIVE_INFINITY : performance.now() + times.fresh;
    this.#usableUntil = first === null ? Number.NEGATIVE_INFINITY : performance.now() + times.usable;
  }

  /** False if there are no keys: no token can be judged. */
  get available(): boolean {
    return performance.now() < this.#usableUntil;
  }

  get signing(): SigningKey | null {
    return this.#ring?.signing ?? null;
  }

  find(kid: unknown): VerificationKey | null {
    return this.available ? (this.#ring?.find(kid) ?? null) : null;
  }

  keepFresh(): void {
    const now = performance.now();
    if (now >= this.#freshUntil) void this.#start(now);
  }

  /** Loads the keys because this one is missing. Null if it is not missing, or if no load is possible now. */
  missing(kid: unknown): Promise<void> | null {
    return this.find(kid) === null ? this.#start(performance.now()) : null;
  }

  #start(now: number): Promise<void> | null {
    if (this.#loading !== null) return this.#loading;
    if (now < this.#nextLoad) return null;
    this.#loading = this.#run().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #run(): Promise<void> {
    const { fresh, minFresh, maxFresh, usable, pause } = this.times;
    try {
      const { ring, maxAge } = await this.load();
      const now = performance.now();
      const age = maxAge === undefined ? fresh : Math.min(maxFresh, Math.max(minFresh, maxAge * 1000));
      this.#ring = ring;
      this.#freshUntil = now + age;
      this.#usableUntil = now + usable;
      this.#failing = false;
      this.version++;
    } catch (error) {
      this.#warn(error);
    }
    const now = performance.now();
    this.#nextLoad = now + (now < this.#usableUntil ? pause : pauseWithoutKeys);
  }

  /** Once for each time that loading begins to fail. There may be no application to log to. */
  #warn(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    process.emitWarning(`the keys of JwtAuth could not be loaded: ${reason}`, {
      type: "StoaWarning",
      code: "STOA_JWKS",
    });
  }
}
