import { checkedOptions, type OptionsOf, option, options } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { WebSocket } from "../../websocket/socket.js";

const joinOptions = options("join()", {
  /** Shown to others by `members()`; sent as JSON, at most 1 KiB. Default null. */
  info: option<unknown>(is.anythingOrNull),
  /** Sends the messages after this id first; "0" for all that are kept. Default: only new messages. */
  after: option(is.string),
  /** Sends `{"room", "id", "data"}` in place of the value alone. Default false. */
  envelope: option(is.boolean, false),
  /** Sends who is in the room, and who joins and leaves it; needs `envelope`. Default false. */
  presence: option(is.boolean, false),
});

const streamOptions = options("stream()", {
  /** Shown to others by `members()`; sent as JSON, at most 1 KiB. Default null. */
  info: option<unknown>(is.anythingOrNull),
  /** Sends the messages after this id first, if the client sends no id itself; "0" for all that are kept. */
  after: option(is.string),
  /** Time without a message after which a comment is sent; 0 for none. Default 15 seconds. */
  heartbeat: option.duration(null, 0, "24d"),
  /** Time after which a client reconnects. Default: the client decides. */
  retry: option.duration(null),
  /** Sends who is in the room, and who joins and leaves it, as events `present`, `joined` and `left`. Default false. */
  presence: option(is.boolean, false),
});

export type JoinOptions = EitherSpelling<OptionsOf<typeof joinOptions.fields>>;
export type StreamOptions = EitherSpelling<OptionsOf<typeof streamOptions.fields>>;

export interface SubscribeOptions<Data> {
  /** Leaves out messages for which it returns false. */
  filter?: (data: Data) => boolean;
  /** Ends the subscription. A generator that waits for a message cannot be ended in another way: give it `context.signal`. */
  signal?: AbortSignal;
  /** Begins with the messages after this id; "0" for all that are kept. Default: only new messages. */
  after?: string;
}

export const readSubscribeOptions = checkedOptions<SubscribeOptions<unknown>>({
  filter: is.function,
  signal: (value) => (value instanceof AbortSignal ? undefined : "an AbortSignal"),
  after: is.string,
});

export interface SendOptions {
  /** A WebSocket that does not get the message: in most cases the one that it came from. */
  except?: WebSocket<object>;
}

export const readSendOptions = checkedOptions<SendOptions>({
  except: (value) => (value instanceof WebSocket ? undefined : "a WebSocket"),
});

const maxInfo = 1024;

/** A client that enters a room. */
export interface Entering {
  /** The id of the last message that the client has; null if it does not come back. */
  readonly after: number | null;
  readonly info: string;
  readonly presence: boolean;
}

export interface JoinSettings extends Entering {
  readonly envelope: boolean;
}

export function readJoinOptions(given?: JoinOptions): JoinSettings {
  const { info, after, envelope, presence } = joinOptions.read([given]);
  if (presence && !envelope) throw new ValueError("option 'presence' in join() needs envelope: true");
  return { info: infoText(info), after: readEventId(after), envelope, presence };
}

export interface StreamSettings extends Entering {
  readonly heartbeat: number | undefined;
  readonly retry: number | undefined;
}

export function readStreamOptions(given?: StreamOptions): StreamSettings {
  const { info, after, heartbeat, retry, presence } = streamOptions.read([given]);
  return { info: infoText(info), after: readEventId(after), heartbeat, retry, presence };
}

function infoText(info: unknown): string {
  const text = JSON.stringify(info ?? null);
  if (text.length > maxInfo) throw new ValueError(`option 'info' has more than ${maxInfo} bytes as JSON`);
  return text;
}

/** The id of a message, as a client gives it back. Null for text that is none of ours. */
export function readEventId(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : null;
}
