import { refusePromises } from "../../../http/json/to-json.js";
import { type OptionsOf, option, options } from "../../../kit/config.js";
import { is, show } from "../../../kit/options.js";
import { type Duration, milliseconds } from "../../../kit/time/duration.js";
import { ValueError } from "../../../kit/value-error.js";
import type { Argument } from "../connection/raw-client.js";
import { KvStoreError } from "../errors.js";
import { KvHash } from "./hash.js";
import { KvList } from "./list.js";
import type { CommandRunner } from "./runner.js";
import { KvSet } from "./set.js";
import { KvSortedSet } from "./sorted-set.js";
import { KvStream } from "./stream.js";
import {
  asNumber,
  asText,
  asTextOrNull,
  asTextsOrNulls,
  encodeValue,
  integerOf,
  isOne,
  isThere,
  type KvValue,
  keyOf,
  nothing,
  ttlOf,
} from "./values.js";

const lifeFields = {
  /** Time after which the key expires. Default: never. */
  ttl: option.duration(null, "1ms"),
};

// A key that is absent has no time to live to keep.
const setIfAbsentOptions = options("setIfAbsent()", lifeFields);

const setOptions = options("set()", {
  ...lifeFields,
  /** Keeps the time to live that the key has. Default false. */
  keepTtl: option(is.boolean, false),
});

export interface SetOptions extends OptionsOf<typeof setOptions.fields> {}

/** The calls that can be made one by one, in a pipeline and in a transaction. */
export class KvCommands {
  readonly #runner: CommandRunner;

  constructor(runner: CommandRunner) {
    this.#runner = runner;
  }

  /** Null if there is no such key. */
  get(key: string): Promise<string | null> {
    return this.#run("get", [this.#key(key)], asTextOrNull);
  }

  getBytes(key: string): Promise<Buffer | null> {
    return this.#runner.run("get", [this.#key(key)], (reply) => reply as Buffer | null, { bytes: true });
  }

  set(key: string, value: KvValue, options?: SetOptions): Promise<void> {
    return this.#run("set", [this.#key(key), encodeValue(value), ...lifeOf("set()", options)], nothing);
  }

  /** False, and nothing is set, if the key exists already. */
  setIfAbsent(key: string, value: KvValue, options?: Pick<SetOptions, "ttl">): Promise<boolean> {
    const life = expiryOf(setIfAbsentOptions.read([options]).ttl);
    return this.#run("set", [this.#key(key), encodeValue(value), ...life, "NX"], isThere);
  }

  /** False, and nothing is set, if there is no such key. */
  setIfPresent(key: string, value: KvValue, options?: SetOptions): Promise<boolean> {
    const life = lifeOf("setIfPresent()", options);
    return this.#run("set", [this.#key(key), encodeValue(value), ...life, "XX"], isThere);
  }

  /** Returns the value that was there before. */
  getAndSet(key: string, value: KvValue, options?: SetOptions): Promise<string | null> {
    const life = lifeOf("getAndSet()", options);
    return this.#run("set", [this.#key(key), encodeValue(value), ...life, "GET"], asTextOrNull);
  }

  getAndDelete(key: string): Promise<string | null> {
    return this.#run("getdel", [this.#key(key)], asTextOrNull);
  }

  /** A value that `setJson` wrote; null if there is no such key. Its shape is not checked. */
  getJson<T = unknown>(key: string): Promise<T | null> {
    return this.#run("get", [this.#key(key)], (reply) => parseJson<T>(reply, key));
  }

  setJson(key: string, value: unknown, options?: SetOptions): Promise<void> {
    return this.#run("set", [this.#key(key), jsonOf(value), ...lifeOf("setJson()", options)], nothing);
  }

  /** The number of keys that were there. */
  delete(...keys: string[]): Promise<number> {
    return this.#count("del", keys);
  }

  has(key: string): Promise<boolean> {
    return this.#run("exists", [this.#key(key)], isOne);
  }

  /** Lets a key end after this time; false if there is no such key. */
  expire(key: string, ttl: Duration): Promise<boolean> {
    return this.#run("pexpire", [this.#key(key), ttlOf(ttl)], isOne);
  }

  /** Removes the expiry of a key; false if there is no such key, or it has no expiry. */
  persist(key: string): Promise<boolean> {
    return this.#run("persist", [this.#key(key)], isOne);
  }

  /** Seconds that a key has left: `Infinity` without an end, null if there is no such key. */
  ttl(key: string): Promise<number | null> {
    return this.#run("pttl", [this.#key(key)], (reply) => {
      if (reply === -2) return null;
      return reply === -1 ? Number.POSITIVE_INFINITY : Number(reply) / 1000;
    });
  }

  incr(key: string, by = 1): Promise<number> {
    return this.#run("incrby", [this.#key(key), integerOf(by, "the step")], asNumber);
  }

  decr(key: string, by = 1): Promise<number> {
    return this.#run("decrby", [this.#key(key), integerOf(by, "the step")], asNumber);
  }

  /** The values in the order of the keys; null for each that is not there. */
  mget(keys: readonly string[]): Promise<(string | null)[]> {
    if (keys.length === 0) return Promise.resolve([]);
    if (this.#runner.clustered) return quiet(each(keys, (key) => this.get(key)));
    return this.#run(
      "mget",
      keys.map((key) => this.#key(key)),
      asTextsOrNulls,
    );
  }

  /** Sets several keys: all at once on one server, one after the other in a cluster. */
  mset(values: Readonly<Record<string, KvValue>>): Promise<void> {
    const entries = Object.entries(values);
    if (entries.length === 0) return Promise.resolve();
    if (this.#runner.clustered) {
      return quiet(each(entries, ([key, value]) => this.set(key, value)).then(nothing));
    }
    return this.#run(
      "mset",
      entries.flatMap(([key, value]) => [this.#key(key), encodeValue(value)]),
      nothing,
    );
  }

  hash(key: string): KvHash {
    return new KvHash(this.#runner, this.#key(key));
  }

  list(key: string): KvList {
    return new KvList(this.#runner, this.#key(key));
  }

  /** A set: each value once, in no order. */
  setOf(key: string): KvSet {
    return new KvSet(this.#runner, this.#key(key));
  }

  /** A set in the order of scores. */
  sortedSet(key: string): KvSortedSet {
    return new KvSortedSet(this.#runner, this.#key(key));
  }

  stream(key: string): KvStream {
    return new KvStream(this.#runner, this.#key(key));
  }

  /** Runs a Lua script. One that runs often is better made with `kv.script()`, which sends its text once. */
  eval<T = unknown>(lua: string, keys: readonly string[] = [], args: readonly KvValue[] = []): Promise<T> {
    const all = [lua, keys.length, ...keys.map((key) => this.#key(key)), ...args.map(encodeValue)];
    return this.#run("eval", all, (reply) => reply as T);
  }

  /** Sends a message to the subscribers of a channel; resolves to their number on the server that was asked. */
  publish(channel: string, message: KvValue): Promise<number> {
    return this.#run("publish", [this.#key(channel), encodeValue(message)], asNumber);
  }

  /** The type of a key: `string`, `hash`, `list`, `set`, `zset`, `stream`; null if there is no such key. */
  type(key: string): Promise<string | null> {
    return this.#run("type", [this.#key(key)], (reply) => (reply === "none" ? null : asText(reply)));
  }

  #count(name: string, keys: readonly string[]): Promise<number> {
    if (keys.length === 0) return Promise.resolve(0);
    if (!this.#runner.clustered || keys.length === 1) {
      return this.#run(
        name,
        keys.map((key) => this.#key(key)),
        asNumber,
      );
    }
    const counts = each(keys, (key) => this.#run(name, [this.#key(key)], asNumber));
    return quiet(counts.then((list) => list.reduce((sum, count) => sum + count, 0)));
  }

  #run<T>(name: string, args: readonly Argument[], read: (reply: unknown) => T): Promise<T> {
    return this.#runner.run(name, args, read);
  }

  #key(key: string): string {
    return keyOf(this.#runner.prefix, key);
  }
}

function lifeOf(call: string, given: SetOptions | undefined): Argument[] {
  if (given === undefined) return [];
  const { ttl, keepTtl } = setOptions.read([given], call);
  if (ttl !== undefined && keepTtl) throw new ValueError(`${call} takes ttl or keepTtl, not both`);
  return keepTtl ? ["KEEPTTL"] : expiryOf(ttl);
}

function expiryOf(ttl: number | undefined): Argument[] {
  return ttl === undefined ? [] : ["PX", milliseconds(ttl)];
}

function jsonOf(value: unknown): string {
  refusePromises(value);
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new ValueError(`setJson() takes a value that JSON can hold, not ${show(value)}`);
  return text;
}

function parseJson<T>(reply: unknown, key: string): T | null {
  if (reply === null) return null;
  try {
    return JSON.parse(reply as string) as T;
  } catch {
    throw new KvStoreError("DATA", `the value of the key ${show(key)} is not JSON`);
  }
}

/** All at once. A call that throws, for a key that is refused, must not leave the promises of those before it behind. */
function each<Item, Reply>(items: readonly Item[], call: (item: Item) => Promise<Reply>): Promise<Reply[]> {
  return Promise.all(items.map(async (item) => call(item)));
}

/** A promise that was made of several, which callers need not await: its rejection must not end the process. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(nothing);
  return promise;
}
