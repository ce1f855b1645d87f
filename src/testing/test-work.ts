import { type App, hostOf } from "../app/app.js";
import { options as declare, type OptionsOf, option } from "../kit/config.js";
import { poll } from "../kit/time/backoff.js";
import { milliseconds } from "../kit/time/duration.js";
import { ValueError } from "../kit/value-error.js";
import { enabledEventStore } from "../patterns/events/feature.js";
import { startedJobs } from "../patterns/jobs/feature.js";
import type { JobInfo } from "../patterns/jobs/records.js";
import { outboxOf } from "../patterns/outbox/feature.js";
import { startedSagas } from "../patterns/saga/feature.js";
import { messagesOf } from "./test-messages.js";

const runDueOptions = declare("runDue()", {
  /** Runs what is due now, and then what is due once this time has passed. Default: only what is due now. */
  after: option.duration("0s"),
  /** Time after which the call rejects with the names of what is not done. Default 60 seconds. */
  timeout: option.duration("60s"),
});

export interface RunDueOptions extends OptionsOf<typeof runDueOptions.fields> {}

/** The work that an application does beside requests. */
export class TestWork {
  readonly #app: App;

  /** @internal */
  constructor(app: App) {
    this.#app = app;
  }

  /** The jobs that were added, oldest first, whether they have run or not: of one name, or all. */
  async enqueued(name?: string): Promise<JobInfo[]> {
    await this.#app.start();
    const jobs = await this.#app.jobs.list({ limit: 1000, ...(name !== undefined && { name }) });
    return jobs.reverse();
  }

  /**
   * Waits until jobs, sagas, subscriptions, projections and the outbox have nothing left to do; with `testMessages(app)` the
   * handlers of messages too. The workers of the application do it. With `after` the stored times are then changed as if this
   * time had passed, and it waits again.
   */
  async runDue(options?: RunDueOptions): Promise<void> {
    const { after, timeout } = runDueOptions.read([options]);
    await this.#app.start();
    const timeoutMs = milliseconds(timeout);
    const host = hostOf(this.#app);
    const [jobs, sagas] = [startedJobs(host), startedSagas(host)];
    if (!(jobs ?? sagas ?? enabledEventStore(host) ?? outboxOf(host) ?? messagesOf(this.#app))) {
      throw new ValueError(
        "runDue() has nothing to run: the application has no jobs, sagas, event store or outbox, and no testMessages(app)",
      );
    }
    await this.#idle(timeoutMs);
    if (after === 0) return;
    await jobs?.pass(milliseconds(after));
    await sagas?.pass(milliseconds(after));
    await this.#idle(timeoutMs);
  }

  async #idle(timeoutMs: number): Promise<void> {
    let left: string[] = [];
    const isIdle = async (): Promise<true | null> => ((left = await this.#left()).length === 0 ? true : null);
    // The end of one work can be the begin of another that was looked at before it.
    for (let quiet = 0; quiet < 3; quiet++) {
      if ((await poll(isIdle, { first: 2, longest: 50, timeoutMs, signal: undefined })) === null) {
        throw new Error(`not done after ${timeoutMs / 1000} s: ${left.join(", ")}`);
      }
    }
  }

  async #left(): Promise<string[]> {
    const host = hostOf(this.#app);
    const messages = messagesOf(this.#app);
    const outbox = (await outboxOf(host)?.admin.ready()) ?? 0;
    return [
      ...((await startedJobs(host)?.due()) ?? []),
      ...((await startedSagas(host)?.due()) ?? []),
      ...((await enabledEventStore(host)?.behind()) ?? []),
      ...(outbox > 0 ? [`${outbox} messages of the outbox`] : []),
      ...(messages === undefined || messages.isIdle ? [] : ["handlers of messages"]),
    ];
  }
}

/** The jobs, sagas and events of an application under test. */
export function testWork(app: App): TestWork {
  return new TestWork(app);
}
