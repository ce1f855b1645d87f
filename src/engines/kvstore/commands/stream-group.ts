import type { Duration } from "../../../kit/time/duration.js";
import type { Argument } from "../connection/raw-client.js";
import { KvStoreError } from "../errors.js";
import type { BlockOptions, CommandRunner } from "./runner.js";
import { asEntries, asStreams, type StreamEntry } from "./stream-entry.js";
import { asNumber, integerOf, nothing, ttlOf, waitOf } from "./values.js";

export interface GroupReadOptions extends BlockOptions {
  /** The most entries. Default 100. */
  readonly count?: number;
  /** Time to wait for an entry where there is none. Default: no wait. */
  readonly block?: Duration;
}

export interface ClaimOptions {
  /** Time for which an entry must have been with its consumer. */
  readonly idle: Duration;
  /** The most entries. Default 100. */
  readonly count?: number;
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

  /** Makes the group, and the stream, unless they are there. It begins with the first entry, or with `from`: `$` for new ones. */
  async create({ from = "0" }: { readonly from?: string } = {}): Promise<void> {
    try {
      await this.#runner.run("xgroup", ["CREATE", this.#key, this.#group, from, "MKSTREAM"], nothing);
    } catch (error) {
      if (!(error instanceof KvStoreError && error.reply === "BUSYGROUP")) throw error;
    }
  }

  /** Entries that no consumer of the group has got yet. */
  read({ count = 100, block, signal }: GroupReadOptions = {}): Promise<StreamEntry[]> {
    const blockMs = block === undefined ? undefined : waitOf(block);
    const wait: Argument[] = blockMs === undefined ? [] : ["BLOCK", blockMs];
    const head = ["GROUP", this.#group, this.#consumer, "COUNT", integerOf(count, "count")];
    const args = [...head, ...wait, "STREAMS", this.#key, ">"];
    return this.#runner.run("xreadgroup", args, asStreams, blockMs === undefined ? {} : { blockMs, signal });
  }

  /** Entries that this consumer got and has not acknowledged: after a crash. */
  unacknowledged(count = 100): Promise<StreamEntry[]> {
    const head = ["GROUP", this.#group, this.#consumer, "COUNT", integerOf(count, "count")];
    return this.#runner.run("xreadgroup", [...head, "STREAMS", this.#key, "0"], asStreams);
  }

  /** Takes over entries that other consumers have kept for too long. */
  claim({ idle, count = 100 }: ClaimOptions): Promise<StreamEntry[]> {
    const args = [this.#key, this.#group, this.#consumer, ttlOf(idle, "idle"), "0", "COUNT", integerOf(count, "count")];
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
