import { type OptionsOf, option, options } from "../../../kit/config.js";
import { type Check, is, show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { CommandRunner } from "./runner.js";
import { asNumber, asNumberOrNull, asScore } from "./values.js";

export interface ScoredMember {
  readonly member: string;
  readonly score: number;
}

const orderFields = {
  /** From the highest score down. Default false. */
  reverse: option(is.boolean, false),
};

const rankOptions = options("rank()", orderFields);

const rangeOptions = options("range()", {
  /** The first rank, from 0; negative ones count from the end. Default 0. */
  start: option(is.integer(), 0),
  /** The last rank, included. Default -1, the last. */
  stop: option(is.integer(), -1),
  ...orderFields,
});

export interface RankRange extends OptionsOf<typeof rangeOptions.fields> {}

const isScore: Check<number> = (value) => (typeof value === "number" && !Number.isNaN(value) ? undefined : "a number");

const scoreOptions = options("byScore()", {
  /** The lowest score, included. Default -Infinity. */
  min: option(isScore, Number.NEGATIVE_INFINITY),
  /** The highest score, included. Default Infinity. */
  max: option(isScore, Number.POSITIVE_INFINITY),
  ...orderFields,
  /** Members of the range to pass over. Default 0. */
  offset: option(is.integer(0), 0),
  /** The most members. Default: all. */
  limit: option(is.integer(), -1, "all"),
});

export interface ScoreRange extends OptionsOf<typeof scoreOptions.fields> {}

/** A set under one key whose members are in the order of their scores. */
export class KvSortedSet {
  readonly #runner: CommandRunner;
  readonly #key: string;

  constructor(runner: CommandRunner, key: string) {
    this.#runner = runner;
    this.#key = key;
  }

  /** Adds members with their scores, or changes the scores; resolves to the number of new members. */
  add(scores: Readonly<Record<string, number>>): Promise<number> {
    const args = Object.entries(scores).flatMap(([member, score]) => [scoreOf(score), member]);
    if (args.length === 0) return Promise.resolve(0);
    return this.#runner.run("zadd", [this.#key, ...args], asNumber);
  }

  /** The new score. */
  incr(member: string, by = 1): Promise<number> {
    return this.#runner.run("zincrby", [this.#key, scoreOf(by), member], asScore);
  }

  score(member: string): Promise<number | null> {
    return this.#runner.run("zscore", [this.#key, member], (reply) => (reply === null ? null : asScore(reply)));
  }

  /** The rank from 0; null if there is no such member. */
  rank(member: string, options?: OptionsOf<typeof rankOptions.fields>): Promise<number | null> {
    const { reverse } = rankOptions.read([options]);
    return this.#runner.run(reverse ? "zrevrank" : "zrank", [this.#key, member], asNumberOrNull);
  }

  /** Members by rank. */
  range(options?: RankRange): Promise<ScoredMember[]> {
    const { start, stop, reverse } = rangeOptions.read([options]);
    return this.#runner.run(reverse ? "zrevrange" : "zrange", [this.#key, start, stop, "WITHSCORES"], asMembers);
  }

  /** Members by score. */
  byScore(options?: ScoreRange): Promise<ScoredMember[]> {
    const { min, max, reverse, offset, limit } = scoreOptions.read([options]);
    const bounds = reverse ? [scoreOf(max), scoreOf(min)] : [scoreOf(min), scoreOf(max)];
    const args = [this.#key, ...bounds, "WITHSCORES", "LIMIT", offset, limit];
    return this.#runner.run(reverse ? "zrevrangebyscore" : "zrangebyscore", args, asMembers);
  }

  /** The number of members that were there. */
  delete(...members: string[]): Promise<number> {
    if (members.length === 0) return Promise.resolve(0);
    return this.#runner.run("zrem", [this.#key, ...members], asNumber);
  }

  /** Removes members by score, both bounds included; resolves to their number. */
  deleteByScore(min: number, max: number): Promise<number> {
    return this.#runner.run("zremrangebyscore", [this.#key, scoreOf(min), scoreOf(max)], asNumber);
  }

  /** Takes the member with the lowest score. */
  popMin(): Promise<ScoredMember | null> {
    return this.#runner.run("zpopmin", [this.#key], (reply) => asMembers(reply)[0] ?? null);
  }

  /** Takes the member with the highest score. */
  popMax(): Promise<ScoredMember | null> {
    return this.#runner.run("zpopmax", [this.#key], (reply) => asMembers(reply)[0] ?? null);
  }

  size(): Promise<number> {
    return this.#runner.run("zcard", [this.#key], asNumber);
  }
}

function scoreOf(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+inf";
  if (value === Number.NEGATIVE_INFINITY) return "-inf";
  if (typeof value !== "number" || Number.isNaN(value))
    throw new ValueError(`a score must be a number, not ${show(value)}`);
  return String(value);
}

function asMembers(reply: unknown): ScoredMember[] {
  const flat = reply as string[];
  const members: ScoredMember[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) members.push({ member: flat[i]!, score: asScore(flat[i + 1]) });
  return members;
}
