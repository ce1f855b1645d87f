import { type OptionsOf, option, options } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import { type Duration, isDuration, milliseconds } from "../../../kit/time/duration.js";
import { KvStoreError } from "../errors.js";
import { type CommandRunner, readFields, readingOf } from "./runner.js";
import { asEntries, asStreams, type StreamEntry } from "./stream-entry.js";
import { asNumber, integerOf, nothing } from "./values.js";

const createOptions = options("create()", {
  /** Entries after this one are for the group; `$` for new ones only. Default: from the first. */
  from: option(is.text, "0"),
});

const readOptions = options("read()", readFields);

export interface GroupReadOptions extends OptionsOf<typeof readOptions.fields> {}

const claimOptions = options("claim()", {
  /** Time for which an entry must have been with its consumer. */
  idle: option.required(isDuration(0.001), milliseconds),
  /** The most entries. Default 100. */
  count: option(is.integer(1), 100),
});

export interface ClaimOptions extends OptionsOf<typeof claimOptions.fields> {
  readonly idle: Duration;
}

/** One consumer of a group. An entry stays with it until it is acknowledged. */
export class KvStreamGroup {
  readonly #runner: CommandRunner;
  readonly #key: string;
  readonly #group: string;
  readonly #consumer: string;

  constructor(runner: CommandRunner, key: string, group: string, consumer: string) {
    this.#runner = runner;
    this.#key = key;
    this.#group = group;
    this.#consumer = consumer;
  }

  /** Makes the group, and the stream, unless they exist. It begins with the first entry, or with `from`: `$` for new ones. */
  async create(options?: OptionsOf<typeof createOptions.fields>): Promise<void> {
    const { from } = createOptions.read([options]);
    try {
      await this.#runner.run("xgroup", ["CREATE", this.#key, this.#group, from, "MKSTREAM"], nothing);
    } catch (error) {
      if (!(error instanceof KvStoreError && error.reply === "BUSYGROUP")) throw error;
    }
  }

  /** Entries that no consumer of the group has got yet. */
  read(options?: GroupReadOptions): Promise<StreamEntry[]> {
    const { count, block, signal } = readOptions.read([options]);
    const [reading, how] = readingOf(count, block, signal);
    const args = ["GROUP", this.#group, this.#consumer, ...reading, "STREAMS", this.#key, ">"];
    return this.#runner.run("xreadgroup", args, asStreams, how);
  }

  /** Entries that this consumer got and has not acknowledged: after a crash. */
  unacknowledged(count = 100): Promise<StreamEntry[]> {
    const head = ["GROUP", this.#group, this.#consumer, "COUNT", integerOf(count, "count")];
    return this.#runner.run("xreadgroup", [...head, "STREAMS", this.#key, "0"], asStreams);
  }

  /** Takes over entries that other consumers have kept for too long. */
  claim(options: ClaimOptions): Promise<StreamEntry[]> {
    const { idle, count } = claimOptions.read([options]);
    const args = [this.#key, this.#group, this.#consumer, idle, "0", "COUNT", count];
    return this.#runner.run("xautoclaim", args, (reply) => asEntries((reply as [string, unknown])[1]));
  }

  /** The number of entries that were pending. */
  ack(...ids: string[]): Promise<number> {
    if (ids.length === 0) return Promise.resolve(0);
    return this.#runner.run("xack", [this.#key, this.#group, ...ids], asNumber);
  }

  /** The number of entries that consumers of the group have not acknowledged. */
  pending(): Promise<number> {
    return this.#runner.run("xpending", [this.#key, this.#group], (reply) => asNumber((reply as unknown[])[0]));
  }
}
