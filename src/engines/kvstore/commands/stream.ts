import { type OptionsOf, option, options } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { Argument } from "../connection/raw-client.js";
import { type CommandRunner, readFields, readingOf } from "./runner.js";
import { asEntries, asStreams, type StreamEntry } from "./stream-entry.js";
import { KvStreamGroup } from "./stream-group.js";
import { asNumber, asText, encodeValue, integerOf, type KvValue } from "./values.js";

const addOptions = options("add()", {
  /** Drops the oldest entries beyond about so many. Default: none is dropped. */
  maxLength: option(is.integer(0)),
  /** Default: chosen by the server. */
  id: option(is.text, "*"),
});

export interface StreamAddOptions extends OptionsOf<typeof addOptions.fields> {}

const readOptions = options("read()", {
  /** Entries after this one; `$` for new ones only. Default: from the first. */
  after: option(is.text, "0-0"),
  ...readFields,
});

export interface StreamReadOptions extends OptionsOf<typeof readOptions.fields> {}

/** A log of entries under one key. */
export class KvStream {
  readonly #runner: CommandRunner;
  readonly #key: string;

  constructor(runner: CommandRunner, key: string) {
    this.#runner = runner;
    this.#key = key;
  }

  /** Adds an entry; resolves to its id. */
  add(fields: Readonly<Record<string, KvValue>>, options?: StreamAddOptions): Promise<string> {
    const { maxLength, id } = addOptions.read([options]);
    const pairs = Object.entries(fields).flatMap(([name, value]) => [name, encodeValue(value)]);
    if (pairs.length === 0) throw new ValueError("an entry of a stream needs a field");
    const limit: Argument[] = maxLength === undefined ? [] : ["MAXLEN", "~", maxLength];
    return this.#runner.run("xadd", [this.#key, ...limit, id, ...pairs], asText);
  }

  /** Entries after an id; an empty list where there is none, or when the time to wait is up. */
  read(options?: StreamReadOptions): Promise<StreamEntry[]> {
    const { after, count, block, signal } = readOptions.read([options]);
    const [args, how] = readingOf(count, block, signal);
    return this.#runner.run("xread", [...args, "STREAMS", this.#key, after], asStreams, how);
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
