import type { CommandRunner } from "./runner.js";
import { asNumber, asTextOrNull, asTexts, encodeValue, isOne, type KvValue } from "./values.js";

/** A set under one key: each value once, in no order. */
export class KvSet {
  readonly #runner: CommandRunner;
  readonly #key: string;

  constructor(runner: CommandRunner, key: string) {
    this.#runner = runner;
    this.#key = key;
  }

  /** The number of values that were not there before. */
  add(...values: KvValue[]): Promise<number> {
    return this.#change("sadd", values);
  }

  /** The number of values that were there. */
  delete(...values: KvValue[]): Promise<number> {
    return this.#change("srem", values);
  }

  has(value: KvValue): Promise<boolean> {
    return this.#runner.run("sismember", [this.#key, encodeValue(value)], isOne);
  }

  values(): Promise<string[]> {
    return this.#runner.run("smembers", [this.#key], asTexts);
  }

  /** Takes a value at random. */
  pop(): Promise<string | null> {
    return this.#runner.run("spop", [this.#key], asTextOrNull);
  }

  size(): Promise<number> {
    return this.#runner.run("scard", [this.#key], asNumber);
  }

  #change(name: string, values: readonly KvValue[]): Promise<number> {
    if (values.length === 0) return Promise.resolve(0);
    return this.#runner.run(name, [this.#key, ...values.map(encodeValue)], asNumber);
  }
}
