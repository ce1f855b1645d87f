import type { CallAttempt } from "./call-attempt.js";
import type { CallLimits } from "./call-limits.js";
import type { FailedAttempt, Retries } from "./retries.js";

/** The first message of an attempt, or its error. */
type Outcome =
  | { readonly run: CallAttempt; readonly messages: AsyncGenerator<unknown>; readonly first: IteratorResult<unknown> }
  | { readonly run: CallAttempt; readonly error: unknown };

/** Attempts of one call beside each other, of which the first response counts (gRFC A6, "Hedging Policy"). */
export class HedgedAttempts implements FailedAttempt {
  readonly #running = new Map<CallAttempt, Promise<Outcome>>();
  /** The one that the server responds to, or that alone has the messages. */
  #chosen: CallAttempt | null = null;
  #refused = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly begin: (commit: (attempt: CallAttempt) => boolean) => CallAttempt,
    private readonly retries: Retries,
    private readonly delay: number,
    private readonly limits: CallLimits,
  ) {}

  async *messages(): AsyncGenerator<unknown> {
    this.#begin();
    const { messages, first } = await this.#firstResponse();
    if (first.done) return;
    yield first.value;
    yield* messages;
  }

  /** Further attempts are begun here, except for a stream that the server has refused. */
  get repeatable(): boolean {
    return this.#refused;
  }

  get unseen(): boolean {
    return this.#refused;
  }

  get refused(): boolean {
    return this.#refused;
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const run of this.#running.keys()) run.end();
  }

  async #firstResponse(): Promise<Extract<Outcome, { first: unknown }>> {
    for (let pause = this.#next(this.delay); ; ) {
      const outcome = await Promise.race([...this.#running.values(), this.#wait(pause)]);
      if (outcome === null) {
        if (this.#next(0) !== null) {
          this.retries.previous++;
          this.#begin();
        }
        pause = this.#next(this.delay);
      } else if ("first" in outcome) {
        return outcome;
      } else {
        pause = await this.#failed(outcome.run, outcome.error);
      }
    }
  }

  /** The time before the next attempt, if there is one. */
  #next(pause: number): number | null {
    return this.#chosen === null && this.retries.mayHedge ? pause : null;
  }

  #begin(): void {
    const run = this.begin((attempt) => this.#choose(attempt));
    const messages = run.messages();
    const outcome = messages.next().then(
      (first) => ({ run, messages, first }),
      (error: unknown) => ({ run, error }),
    );
    this.#running.set(run, outcome);
  }

  #choose(attempt: CallAttempt): boolean {
    if (this.#chosen !== null) return this.#chosen === attempt;
    this.#chosen = attempt;
    for (const run of this.#running.keys()) if (run !== attempt) run.end();
    return true;
  }

  /** The time before the next attempt. Throws if the call has failed. */
  async #failed(run: CallAttempt, error: unknown): Promise<number | null> {
    this.#running.delete(run);
    run.end();
    // One of those that were ended for the chosen one.
    if (this.#chosen !== null && this.#chosen !== run) return null;
    this.limits.check();
    const isAlone = this.#running.size === 0;
    this.#refused = isAlone && run.refused;
    const pause = this.#chosen === null && !this.#refused ? this.retries.hedgeAfterFailure(error) : "fatal";
    if (pause === "fatal" || (pause === null && isAlone)) throw error;
    if (pause === null || !isAlone) return pause;
    await this.limits.pause(pause, error);
    return 0;
  }

  /** Never for null. */
  #wait(pause: number | null): Promise<null> {
    clearTimeout(this.#timer);
    return new Promise((resolve) => {
      if (pause === 0) resolve(null);
      else if (pause !== null) this.#timer = setTimeout(resolve, pause, null);
    });
  }
}
