import type { CommandRunner } from "./runner.js";
import {
  asNumber,
  asTextOrNull,
  asTexts,
  asTextsOrNulls,
  encodeValue,
  integerOf,
  isOne,
  type KvValue,
  nothing,
} from "./values.js";

/** A map from fields to values under one key. */
export class KvHash {
  readonly #runner: CommandRunner;
  readonly #key: string;

  constructor(runner: CommandRunner, key: string) {
    this.#runner = runner;
    this.#key = key;
  }

  get(field: string): Promise<string | null> {
    return this.#runner.run("hget", [this.#key, field], asTextOrNull);
  }

  getMany(fields: readonly string[]): Promise<(string | null)[]> {
    if (fields.length === 0) return Promise.resolve([]);
    return this.#runner.run("hmget", [this.#key, ...fields], asTextsOrNulls);
  }

  /** All fields; an empty object if there is no such key. */
  all(): Promise<Record<string, string>> {
    return this.#runner.run("hgetall", [this.#key], (reply) => ({ ...(reply as Record<string, string>) }));
  }

  set(fields: Readonly<Record<string, KvValue>>): Promise<void> {
    const args = Object.entries(fields).flatMap(([field, value]) => [field, encodeValue(value)]);
    if (args.length === 0) return Promise.resolve();
    return this.#runner.run("hset", [this.#key, ...args], nothing);
  }

  /** False, and nothing is set, if the field exists already. */
  setIfAbsent(field: string, value: KvValue): Promise<boolean> {
    return this.#runner.run("hsetnx", [this.#key, field, encodeValue(value)], isOne);
  }

  /** The number of fields that were there. */
  delete(...fields: string[]): Promise<number> {
    if (fields.length === 0) return Promise.resolve(0);
    return this.#runner.run("hdel", [this.#key, ...fields], asNumber);
  }

  has(field: string): Promise<boolean> {
    return this.#runner.run("hexists", [this.#key, field], isOne);
  }

  incr(field: string, by = 1): Promise<number> {
    return this.#runner.run("hincrby", [this.#key, field, integerOf(by, "the step")], asNumber);
  }

  fields(): Promise<string[]> {
    return this.#runner.run("hkeys", [this.#key], asTexts);
  }

  size(): Promise<number> {
    return this.#runner.run("hlen", [this.#key], asNumber);
  }
}
