import type { Logger } from "../kit/logger.js";
import { Term } from "../kit/time/term.js";

/** Calls a function three times in each lease, never twice at a time. */
export class Heartbeat {
  readonly #timer: NodeJS.Timeout;
  readonly #run: () => Promise<void>;
  #beating: Promise<void> | null = null;

  constructor(leaseMs: number, run: () => Promise<void>) {
    this.#run = run;
    this.#timer = setInterval(() => void this.beat(), leaseMs / 3);
  }

  /** Calls it now, or waits for the call under way. */
  beat(): Promise<void> {
    return (this.#beating ??= this.#run().finally(() => (this.#beating = null)));
  }

  /** Resolves when no call is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
  }
}

/** The statements of a lease that has a name. Each claim has a higher token than the one before. */
export interface LeaseSource<Claim extends { readonly token: number }> {
  /** The name of the work, for the log. */
  readonly name: string;
  /** Null while another process has it. */
  claim(): Promise<Claim | null>;
  /** False if another process has it. A lease that is over, and that no other process has taken, is extended. */
  renew(token: number): Promise<boolean>;
  release(token: number): Promise<void>;
}

/** The right to do some work that one process at a time may do. It is renewed until it is lost or released. */
export class Lease<Claim extends { readonly token: number }> {
  readonly #heartbeat: Heartbeat;
  readonly #lost = new AbortController();
  #closed = false;

  private constructor(
    private readonly source: LeaseSource<Claim>,
    readonly term: Term,
    readonly claim: Claim,
    private readonly logger: Logger,
  ) {
    this.#heartbeat = new Heartbeat(term.leaseMs, () => this.#beat());
  }

  /** Null while another process has it. */
  static async claim<Claim extends { readonly token: number }>(
    source: LeaseSource<Claim>,
    leaseMs: number,
    logger: Logger,
  ): Promise<Lease<Claim> | null> {
    const term = new Term(leaseMs);
    const extended = term.extend();
    const claim = await source.claim();
    if (claim === null) return null;
    extended();
    return new Lease(source, term, claim, logger);
  }

  /** True while no other process can have it: asked right before each effect outside of the database. */
  get held(): boolean {
    return !this.#closed && !this.#lost.signal.aborted && this.term.held;
  }

  /** Aborted when another process has it, or when it is over and cannot be renewed. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Asks the database; false if another process has it. */
  async renew(): Promise<boolean> {
    const extended = this.term.extend();
    const held = await this.source.renew(this.claim.token);
    if (held) extended();
    else this.#lost.abort();
    return held;
  }

  /** Gives it to the next process that asks. */
  async release(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#heartbeat.stop();
    if (this.#lost.signal.aborted) return;
    await this.source
      .release(this.claim.token)
      .catch((error: unknown) => this.logger.debug(`the lease of ${this.source.name} was not released`, { error }));
  }

  async #beat(): Promise<void> {
    // Work that extends the lease by its own statements needs no others.
    if (this.term.left > (this.term.leaseMs * 2) / 3) return;
    try {
      await this.renew();
    } catch (error) {
      this.logger.warn(`the lease of ${this.source.name} was not renewed`, { error });
      if (!this.term.held) this.#lost.abort();
    }
  }
}
