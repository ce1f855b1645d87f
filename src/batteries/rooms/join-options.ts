import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { readEventId } from "./event-id.js";

interface JoinFields {
  /** Shown to others by `members()`; sent as JSON, at most 1 KiB. Default null. */
  readonly info?: unknown;
  /** Sends the messages after this id first; "0" for all that are kept. Default: only new messages. */
  readonly after?: string;
  /** Sends `{"room", "id", "data"}` in place of the value alone. Default false. */
  readonly envelope?: boolean;
}

interface StreamFields {
  /** Shown to others by `members()`; sent as JSON, at most 1 KiB. Default null. */
  readonly info?: unknown;
  /** Sends the messages after this id first, if the client has no id of its own; "0" for all that are kept. */
  readonly after?: string;
  /** Seconds without a message after which a comment is sent; 0 for none. Default 15. */
  readonly heartbeat?: number;
  /** Milliseconds after which a client reconnects. Default: the client decides. */
  readonly retry?: number;
}

export type JoinOptions = EitherSpelling<JoinFields>;
export type StreamOptions = EitherSpelling<StreamFields>;

const joinChecks: Checks<JoinFields> = { info: is.anything, after: is.string, envelope: is.boolean };
const streamChecks: Checks<StreamFields> = {
  info: is.anything,
  after: is.string,
  heartbeat: is.number(0, 2_147_483),
  retry: is.integer(0),
};
const maxInfo = 1024;

export interface JoinSettings {
  readonly info: string;
  readonly after: number | null;
  readonly envelope: boolean;
}

export function readJoinOptions(given?: JoinOptions): JoinSettings {
  const { info, after, envelope = false } = readOptions<JoinFields>("join()", given, joinChecks);
  return { info: infoText(info), after: readEventId(after), envelope };
}

export interface StreamSettings {
  readonly info: string;
  readonly after: number | null;
  readonly heartbeat: number | undefined;
  readonly retry: number | undefined;
}

export function readStreamOptions(given?: StreamOptions): StreamSettings {
  const { info, after, heartbeat, retry } = readOptions<StreamFields>("stream()", given, streamChecks);
  return { info: infoText(info), after: readEventId(after), heartbeat, retry };
}

function infoText(info: unknown): string {
  const text = JSON.stringify(info ?? null);
  if (text.length > maxInfo) throw new ValueError(`option 'info' has more than ${maxInfo} bytes as JSON`);
  return text;
}
