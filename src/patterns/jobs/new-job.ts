import type { StoredTrace } from "../../durable/stored-trace.js";
import { jsonText } from "../../durable/texts.js";
import { show } from "../../kit/options.js";
import { milliseconds } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { validated } from "../../validation/issues.js";
import { isKey, type JobSettings } from "./options.js";

/** A job that is added. */
export interface NewJob {
  readonly name: string;
  readonly key: string | null;
  /** Seconds for which the key stands for this job, whatever becomes of it. */
  readonly keepKey?: number;
  /** As JSON text. */
  readonly value: string;
  /** Milliseconds until it is due. */
  readonly delay: number;
  readonly priority: number;
  /** The key that the limit of its name counts by. */
  readonly limitKey?: string | null;
  readonly trace?: StoredTrace | null;
}

export function newJob(job: JobSettings, given: unknown, key: string | null, delay: number, priority: number): NewJob {
  const { name, keyLimit } = job;
  const limitKey = keyLimit === undefined ? null : keyOf(`option 'keyLimit' of job ${show(name)}`, keyLimit.key, given);
  const value = jsonText(given, "the value of the job", name);
  return { name, key, value, delay: milliseconds(delay), priority, limitKey };
}

/** The key that a function makes of a value. */
export function keyOf(place: string, make: (value: never) => string, value: unknown): string {
  const key: unknown = make(value as never);
  const allowed = isKey(key);
  if (allowed !== undefined) throw new ValueError(`${place} must return ${allowed}, not ${show(key)}`);
  return key as string;
}

/** The value of a job as its schema has it. */
export async function checked({ schema, name }: JobSettings, given: unknown): Promise<unknown> {
  return schema === undefined ? given : validated(schema, given, `job ${name}`);
}

/** The columns of jobs that are added as one parameter. */
export const recordColumns =
  "name text, value jsonb, delay float8, priority smallint, key text, limit_key text, trace jsonb";

/** Jobs as that parameter. */
export function recordsText(items: readonly NewJob[]): string {
  const texts = items.map(({ name, value, delay, priority, key, limitKey, trace }) => {
    let text = `{"name":${JSON.stringify(name)},"value":${value},"delay":${delay},"priority":${priority}`;
    if (key !== null) text += `,"key":${JSON.stringify(key)}`;
    if (limitKey != null) text += `,"limit_key":${JSON.stringify(limitKey)}`;
    if (trace != null) text += `,"trace":${JSON.stringify(trace)}`;
    return `${text}}`;
  });
  return `[${texts.join(",")}]`;
}
