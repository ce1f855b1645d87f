import { describeError, isInstance } from "../../../errors/describe.js";
import type { Issue } from "../../../validation/issues.js";
import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import { countIn, frameworkHeaders, headerText, isOwn, withoutOwn } from "../headers.js";
import { InvalidValueError } from "../values.js";
import type { DeadReason } from "./outcome.js";

export interface Death {
  readonly topic: string;
  readonly group: string;
  readonly reason: DeadReason;
  readonly error: unknown;
  readonly attempts: number;
}

/** Bytes of a value that are kept of a dead letter that the broker does not take as a whole. */
const keptBytes = 10_000;
const mostIssues = 10;

/** The record of a dead letter: the message as it was, and the reason in its headers. */
export function deadLetterRecord(record: IncomingRecord, deadTopic: string, death: Death): OutgoingRecord {
  const replays = countIn(record.headers, frameworkHeaders.replays);
  const headers: Record<string, string> = {
    // Other programs can write headers of ours too: those of dead letters would hide this one, or another.
    ...withoutOwn(record.headers),
    ...(replays > 0 && { [frameworkHeaders.replays]: String(replays) }),
    [frameworkHeaders.reason]: death.reason,
    [frameworkHeaders.error]: errorText(death.error),
    [frameworkHeaders.deadTopic]: death.topic,
    [frameworkHeaders.deadGroup]: death.group,
    [frameworkHeaders.deadAt]: new Date().toISOString(),
    [frameworkHeaders.attempt]: String(death.attempts),
  };
  if (isInstance(death.error, InvalidValueError)) {
    const issues = death.error.issues.slice(0, mostIssues).map(shortIssue);
    headers[frameworkHeaders.issues] = headerText(JSON.stringify(issues), 8000);
  }
  const { id, key, body, timestamp } = record;
  return { topic: deadTopic, id, key, headers, body, timestamp, delayMs: 0, foreign: true };
}

/**
 * A dead letter that every broker takes, in place of one that is too large for its broker: the headers of the framework, and
 * the beginning of the value.
 */
export function cutDeadLetter(letter: OutgoingRecord): OutgoingRecord {
  const headers = Object.fromEntries(Object.entries(letter.headers).filter(([name]) => isOwn(name)));
  headers[frameworkHeaders.deadCut] = String(letter.body.length);
  return { ...letter, key: null, headers, body: letter.body.subarray(0, keptBytes) };
}

/** An issue without long texts, so that the header stays JSON. The path has names that the sender chose. */
function shortIssue({ loc, msg, type }: Issue): object {
  const path = loc.slice(0, 10).map((part) => (typeof part === "string" ? part.slice(0, 30) : part));
  return { loc: path, msg: msg.slice(0, 200), type };
}

function errorText(error: unknown): string {
  const { name, message } = describeError(error);
  return headerText(isInstance(error, Error) && name !== "Error" ? `${name}: ${message}` : message);
}
