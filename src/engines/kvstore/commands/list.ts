import { type OptionsOf, options } from "../../../kit/config.js";
import type { Duration } from "../../../kit/time/duration.js";
import { type CommandRunner, waitFields } from "./runner.js";
import { asNumber, asTextOrNull, asTexts, encodeValue, integerOf, type KvValue, nothing, waitOf } from "./values.js";

const waitOptions = options("waitShift()", waitFields);

type WaitOptions = OptionsOf<typeof waitOptions.fields>;

/** A list under one key: names as of arrays, so that `push` and `shift` make a queue. */
export class KvList {
  readonly #runner: CommandRunner;
  readonly #key: string;

  constructor(runner: CommandRunner, key: string) {
    this.#runner = runner;
    this.#key = key;
  }

  /** Adds at the end; resolves to the new length. */
  push(...values: KvValue[]): Promise<number> {
    return this.#add("rpush", values);
  }

  /** Adds at the beginning, in the order given; resolves to the new length. */
  unshift(...values: KvValue[]): Promise<number> {
    return this.#add("lpush", values.toReversed());
  }

  /** Takes the last value. */
  pop(): Promise<string | null> {
    return this.#runner.run("rpop", [this.#key], asTextOrNull);
  }

  /** Takes the first value. */
  shift(): Promise<string | null> {
    return this.#runner.run("lpop", [this.#key], asTextOrNull);
  }

  /** Takes the first value; waits up to this time for one. Null when the time is up. */
  waitShift(time: Duration, options?: WaitOptions): Promise<string | null> {
    return this.#wait("blpop", time, waitOptions.read([options]));
  }

  /** Takes the last value; waits up to this time for one. Null when the time is up. */
  waitPop(time: Duration, options?: WaitOptions): Promise<string | null> {
    return this.#wait("brpop", time, waitOptions.read([options], "waitPop()"));
  }

  /** Values from one index to another, both included; negative ones count from the end. */
  range(start = 0, stop = -1): Promise<string[]> {
    return this.#runner.run("lrange", [this.#key, integerOf(start, "start"), integerOf(stop, "stop")], asTexts);
  }

  at(index: number): Promise<string | null> {
    return this.#runner.run("lindex", [this.#key, integerOf(index, "the index")], asTextOrNull);
  }

  /** Keeps the values from one index to another and drops the others. */
  trim(start: number, stop: number): Promise<void> {
    return this.#runner.run("ltrim", [this.#key, integerOf(start, "start"), integerOf(stop, "stop")], nothing);
  }

  /** Removes all values equal to this one; resolves to their number. */
  remove(value: KvValue): Promise<number> {
    return this.#runner.run("lrem", [this.#key, 0, encodeValue(value)], asNumber);
  }

  size(): Promise<number> {
    return this.#runner.run("llen", [this.#key], asNumber);
  }

  #add(name: string, values: readonly KvValue[]): Promise<number> {
    if (values.length === 0) return this.size();
    return this.#runner.run(name, [this.#key, ...values.map(encodeValue)], asNumber);
  }

  #wait(name: string, time: Duration, { signal }: WaitOptions): Promise<string | null> {
    const blockMs = waitOf(time);
    const read = (reply: unknown): string | null => (reply as [string, string] | null)?.[1] ?? null;
    return this.#runner.run(name, [this.#key, blockMs / 1000], read, { blockMs, signal });
  }
}
