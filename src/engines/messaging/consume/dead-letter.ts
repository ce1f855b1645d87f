import { describeError } from "../../../errors/describe.js";
import type { Issue } from "../../../validation/issues.js";
import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import { countIn, headerText, isOwn, own, withoutOwn } from "../headers.js";
import { InvalidValueError } from "../values.js";
import type { DeadReason } from "./attempt.js";

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
  const replays = countIn(record.headers, own.replays);
  const headers: Record<string, string> = {
    // Other programs can write headers of ours too: those of dead letters would hide this one, or another.
    ...withoutOwn(record.headers),
    ...(replays > 0 && { [own.replays]: String(replays) }),
    [own.reason]: death.reason,
    [own.error]: errorText(death.error),
    [own.deadTopic]: death.topic,
    [own.deadGroup]: death.group,
    [own.deadAt]: new Date().toISOString(),
    [own.attempt]: String(death.attempts),
  };
  if (death.error instanceof InvalidValueError) {
    const issues = death.error.issues.slice(0, mostIssues).map(shortIssue);
    headers[own.issues] = headerText(JSON.stringify(issues), 8000);
  }
  const { id, key, body, timestamp } = record;
  return { topic: deadTopic, id, key, headers, body, timestamp, delay: 0, foreign: true };
}

/**
 * A dead letter that every broker takes, in place of one that is too large for its broker: the headers of the framework, and
 * the beginning of the value.
 */
export function cutDeadLetter(letter: OutgoingRecord): OutgoingRecord {
  const headers = Object.fromEntries(Object.entries(letter.headers).filter(([name]) => isOwn(name)));
  headers[own.deadCut] = String(letter.body.length);
  return { ...letter, key: null, headers, body: letter.body.subarray(0, keptBytes) };
}

/** An issue without long texts, so that the header stays JSON. The path has names that the sender chose. */
function shortIssue({ loc, msg, type }: Issue): object {
  const path = loc.slice(0, 10).map((part) => (typeof part === "string" ? part.slice(0, 30) : part));
  return { loc: path, msg: msg.slice(0, 200), type };
}

function errorText(error: unknown): string {
  const { name, message } = describeError(error);
  return headerText(error instanceof Error && name !== "Error" ? `${name}: ${message}` : message);
}
