import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import { headerText, own } from "../headers.js";
import { InvalidValueError } from "../values.js";
import type { DeadReason } from "./attempt.js";

export interface Death {
  readonly topic: string;
  readonly group: string;
  readonly reason: DeadReason;
  readonly error: unknown;
  readonly attempts: number;
}

/** The record of a dead letter: the message as it was, and the reason in its headers. */
export function deadLetterRecord(record: IncomingRecord, deadTopic: string, death: Death): OutgoingRecord {
  const headers: Record<string, string> = {
    ...record.headers,
    [own.reason]: death.reason,
    [own.error]: errorText(death.error),
    [own.deadTopic]: death.topic,
    [own.deadGroup]: death.group,
    [own.deadAt]: new Date().toISOString(),
    [own.attempt]: String(death.attempts),
  };
  delete headers[own.group];
  if (death.error instanceof InvalidValueError) {
    // Cut at whole issues, so that the header stays JSON.
    const issues = death.error.issues.slice(0, 10).map(({ loc, msg, type }) => ({ loc, msg: msg.slice(0, 200), type }));
    headers[own.issues] = headerText(JSON.stringify(issues), 4000);
  }
  const { id, key, body, timestamp } = record;
  return { topic: deadTopic, id, key, headers, body, timestamp, delay: 0 };
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return headerText(String(error));
  return headerText(error.name === "Error" ? error.message : `${error.name}: ${error.message}`);
}
