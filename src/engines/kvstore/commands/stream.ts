import type { Duration } from "../../../kit/time/duration.js";
import { ValueError } from "../../../kit/value-error.js";
import type { Argument } from "../connection/raw-client.js";
import type { BlockOptions, CommandRunner } from "./runner.js";
import { asEntries, asStreams, type StreamEntry } from "./stream-entry.js";
import { KvStreamGroup } from "./stream-group.js";
import { asNumber, asText, encodeValue, integerOf, type KvValue, waitOf } from "./values.js";

export interface StreamAddOptions {
  /** Drops the oldest entries beyond about so many. Default: none is dropped. */
  readonly maxLength?: number;
  /** Default: chosen by the server. */
  readonly id?: string;
}

export interface StreamReadOptions extends BlockOptions {
  /** Entries after this one; `$` for those that are added from now on. Default: from the first. */
  readonly after?: string;
  /** The most entries. Default 100. */
  readonly count?: number;
  /** Time to wait for an entry where there is none. Default: no wait. */
  readonly block?: Duration;
}

/** A log of entries under one key. */
export class KvStream {
  readonly #runner: CommandRunner;
  readonly #key: string;

  constructor(runner: CommandRunner, key: string) {
    this.#runner = runner;
    this.#key = key;
  }

  /** Adds an entry; resolves to its id. */
  add(fields: Readonly<Record<string, KvValue>>, { maxLength, id = "*" }: StreamAddOptions = {}): Promise<string> {
    const pairs = Object.entries(fields).flatMap(([name, value]) => [name, encodeValue(value)]);
    if (pairs.length === 0) throw new ValueError("an entry of a stream needs a field");
    const limit: Argument[] = maxLength === undefined ? [] : ["MAXLEN", "~", integerOf(maxLength, "maxLength")];
    return this.#runner.run("xadd", [this.#key, ...limit, id, ...pairs], asText);
  }

  /** Entries after an id; an empty list where there is none, or when the time to wait is up. */
  read({ after = "0-0", count = 100, block, signal }: StreamReadOptions = {}): Promise<StreamEntry[]> {
    const blockMs = block === undefined ? undefined : waitOf(block);
    const wait: Argument[] = blockMs === undefined ? [] : ["BLOCK", blockMs];
    const args = ["COUNT", integerOf(count, "count"), ...wait, "STREAMS", this.#key, after];
    return this.#runner.run("xread", args, asStreams, blockMs === undefined ? {} : { blockMs, signal });
  }

  /** Entries from one id to another, both included; `-` and `+` are the first and the last. */
  range(from = "-", to = "+", count = 100): Promise<StreamEntry[]> {
    return this.#runner.run("xrange", [this.#key, from, to, "COUNT", integerOf(count, "count")], asEntries);
  }

  delete(...ids: string[]): Promise<number> {
    if (ids.length === 0) return Promise.resolve(0);
    return this.#runner.run("xdel", [this.#key, ...ids], asNumber);
  }

  /** Drops the oldest entries beyond so many; resolves to their number. */
  trim(maxLength: number): Promise<number> {
    return this.#runner.run("xtrim", [this.#key, "MAXLEN", integerOf(maxLength, "maxLength")], asNumber);
  }

  size(): Promise<number> {
    return this.#runner.run("xlen", [this.#key], asNumber);
  }

  /** A group of consumers, of which each gets other entries. `consumer` names this one. */
  group(name: string, consumer: string): KvStreamGroup {
    return new KvStreamGroup(this.#runner, this.#key, name, consumer);
  }
}
