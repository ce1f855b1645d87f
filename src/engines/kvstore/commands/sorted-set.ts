import { show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { Argument } from "../connection/raw-client.js";
import type { CommandRunner } from "./runner.js";
import { asNumber, asNumberOrNull, asScore, integerOf } from "./values.js";

export interface ScoredMember {
  readonly member: string;
  readonly score: number;
}

export interface RankRange {
  /** The first rank, from 0; negative ones count from the end. Default 0. */
  readonly start?: number;
  /** The last rank, included. Default -1, the last. */
  readonly stop?: number;
  /** From the highest score down. */
  readonly reverse?: boolean;
}

export interface ScoreRange {
  /** Both included. Default: from -Infinity to Infinity. */
  readonly min?: number;
  readonly max?: number;
  /** From the highest score down. */
  readonly reverse?: boolean;
  readonly offset?: number;
  readonly limit?: number;
}

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
  rank(member: string, { reverse = false }: { readonly reverse?: boolean } = {}): Promise<number | null> {
    return this.#runner.run(reverse ? "zrevrank" : "zrank", [this.#key, member], asNumberOrNull);
  }

  /** Members by rank. */
  range({ start = 0, stop = -1, reverse = false }: RankRange = {}): Promise<ScoredMember[]> {
    const args = [this.#key, integerOf(start, "start"), integerOf(stop, "stop"), "WITHSCORES"];
    return this.#runner.run(reverse ? "zrevrange" : "zrange", args, asMembers);
  }

  /** Members by score. */
  byScore({ min, max, reverse = false, offset, limit }: ScoreRange = {}): Promise<ScoredMember[]> {
    const low = scoreOf(min ?? Number.NEGATIVE_INFINITY);
    const high = scoreOf(max ?? Number.POSITIVE_INFINITY);
    const args: Argument[] = reverse ? [this.#key, high, low, "WITHSCORES"] : [this.#key, low, high, "WITHSCORES"];
    if (offset !== undefined || limit !== undefined) {
      args.push("LIMIT", integerOf(offset ?? 0, "offset"), integerOf(limit ?? -1, "limit"));
    }
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
