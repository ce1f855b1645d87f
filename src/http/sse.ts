import { type OptionsOf, option, options } from "../kit/config.js";
import { show } from "../kit/options.js";
import { type Duration, isDuration, milliseconds } from "../kit/time/duration.js";
import { ValueError } from "../kit/value-error.js";
import { endNodeStream, takeErrors } from "./discard.js";
import { toJson } from "./json/to-json.js";

/** One server-sent event. A `comment` reaches no listener; at least one of `data` and `comment` must be there. */
export interface SseEvent {
  /** A string is sent as it is, anything else as JSON. */
  readonly data?: unknown;
  /** The type that listeners are registered for; default "message". */
  readonly event?: string;
  /** The id of the event. A client that reconnects sends it as Last-Event-ID. */
  readonly id?: string | number;
  /** Time after which a client reconnects. */
  readonly retry?: Duration;
  readonly comment?: string;
}

/**
 * The source of the events. An item that is an object with a key `data` or `comment` is an `SseEvent`, and any other
 * key than those of one is an error; a string is the data of an event; anything else is data sent as JSON. (So a value
 * that has its own key `data` is sent as `{ data: value }`.) A function is given a signal that is aborted when the
 * client leaves.
 */
export type SseSource = AsyncIterable<unknown> | ((signal: AbortSignal) => AsyncIterable<unknown>);

const sseOptions = options("the options of an event stream", {
  /**
   * Time without an event after which a comment is sent, so that no proxy closes the connection as idle; 0 for none.
   * Default 15 seconds.
   */
  heartbeat: option.duration("15s", 0, "24d"),
  /** Time after which a client reconnects; sent first. Default: the client decides. */
  retry: option.duration(null),
});

export interface SseOptions extends OptionsOf<typeof sseOptions.fields> {}

/**
 * The text of an event stream (the HTML standard, section 9.2). Its `return` ends the source at once, even while an
 * item is awaited.
 */
export function sseStream(source: SseSource, options?: SseOptions): AsyncIterableIterator<string> {
  const { heartbeat, retry } = sseOptions.read([options]);
  if (typeof source !== "function" && !isAsyncIterable(source)) {
    throw new ValueError(`events come from an async iterable or a function that returns one, not ${show(source)}`);
  }
  takeErrors(source);
  return new SseStream(source, milliseconds(heartbeat), retry);
}

/** The text of one item of a source. */
export function formatEvent(item: unknown): string {
  if (typeof item === "string") return `${lines("data: ", item)}\n`;
  const event: SseEvent = isEvent(item) ? item : { data: item };
  const text =
    lines(": ", event.comment) +
    field("event", event.event) +
    field("id", event.id) +
    retryField(event.retry) +
    lines("data: ", dataText(event, item));
  return `${text}\n`;
}

const heartbeatText = ": \n\n";
/** Milliseconds between the heartbeats to a client that sends nothing more. */
const probeInterval = 1000;
const over: IteratorReturnResult<undefined> = { done: true, value: undefined };

interface Waiter {
  readonly resolve: (result: IteratorResult<string>) => void;
  readonly reject: (error: unknown) => void;
}

class Failure {
  constructor(readonly error: unknown) {}
}

/** The result of one `next()`. */
type Outcome = IteratorResult<string> | Failure;

/** Not an async generator: `return` of a generator waits for the item that is being awaited. */
export class SseStream implements AsyncIterableIterator<string> {
  readonly #source: SseSource;
  /** Milliseconds. */
  #heartbeat: number;
  readonly #abort = new AbortController();
  #first: string | null;
  #iterator: AsyncIterator<unknown> | null = null;
  #pulling = false;
  /** The outcome of the source while no `next()` was waiting: a heartbeat had resolved the last one. */
  #arrived: Outcome | null = null;
  #waiter: Waiter | null = null;
  /** Started when an event is awaited; created once and refreshed for each event. */
  #timer: NodeJS.Timeout | null = null;
  #ended = false;

  constructor(source: SseSource, heartbeat: number, retry: number | undefined) {
    this.#source = source;
    this.#heartbeat = heartbeat;
    this.#first = retry === undefined ? null : `${retryField(retry)}\n`;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<string>> {
    if (this.#ended) return Promise.resolve(over);
    if (this.#first !== null) {
      const value = this.#first;
      this.#first = null;
      return Promise.resolve({ done: false, value });
    }
    if (this.#waiter) return Promise.reject(new Error("an event stream is read by one reader, one event at a time"));
    return new Promise(this.#wait);
  }

  return(): Promise<IteratorResult<string>> {
    if (!this.#ended) {
      this.#ended = true;
      this.#settle(over);
      this.#abort.abort();
      this.#leaveSource();
    }
    return Promise.resolve(over);
  }

  /**
   * The client has closed its side of the connection. It may still read, but most have left, and only a write tells: the
   * system of one that has left refuses the first, and the next one fails. So heartbeats are sent at once and often.
   */
  probe(): void {
    if (this.#ended) return;
    this.#heartbeat = probeInterval;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#beat();
  }

  // One function of each serves the whole stream: an event costs no closure.

  readonly #wait = (resolve: Waiter["resolve"], reject: Waiter["reject"]): void => {
    this.#waiter = { resolve, reject };
    if (this.#arrived) {
      this.#settle(this.#arrived);
      return;
    }
    if (this.#timer) this.#timer.refresh();
    else if (this.#heartbeat > 0) this.#timer = setTimeout(this.#beat, this.#heartbeat).unref();
    if (!this.#pulling) this.#pull();
  };

  readonly #beat = (): void => {
    if (this.#waiter) this.#settle({ done: false, value: heartbeatText });
  };

  readonly #took = (item: IteratorResult<unknown>): void => {
    if (this.#ended) return;
    this.#pulling = false;
    let outcome: Outcome;
    try {
      outcome = item.done ? over : { done: false, value: formatEvent(item.value) };
    } catch (error) {
      this.#abort.abort();
      this.#leaveSource();
      outcome = new Failure(error);
    }
    if (outcome === over) this.#ended = true;
    this.#settle(outcome);
  };

  readonly #failed = (error: unknown): void => {
    if (this.#ended) return;
    this.#pulling = false;
    this.#settle(new Failure(error));
  };

  #pull(): void {
    this.#pulling = true;
    try {
      this.#iterator ??= open(this.#source, this.#abort.signal);
      Promise.resolve(this.#iterator.next()).then(this.#took, this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  }

  #settle(outcome: Outcome): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    this.#arrived = waiter ? null : outcome;
    if (outcome instanceof Failure) {
      if (waiter) this.#ended = true;
      waiter?.reject(outcome.error);
    } else {
      waiter?.resolve(outcome);
    }
    if (this.#ended && this.#timer) clearTimeout(this.#timer);
  }

  /** Tells the source to end, without waiting: a generator takes notice only at its next `yield`. */
  #leaveSource(): void {
    try {
      endNodeStream(this.#source);
      if (!this.#iterator && typeof this.#source === "function") return;
      this.#iterator ??= open(this.#source, this.#abort.signal);
      this.#iterator.return?.().then(undefined, () => {});
    } catch {
      // The client has left: the error is not reported.
    }
  }
}

function open(source: SseSource, signal: AbortSignal): AsyncIterator<unknown> {
  const items = typeof source === "function" ? source(signal) : source;
  if (!isAsyncIterable(items)) {
    throw new ValueError(`the function that events come from returned ${show(items)}, not an async iterable`);
  }
  return items[Symbol.asyncIterator]();
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

const eventKeys = ["data", "event", "id", "retry", "comment"];

function isEvent(item: unknown): item is SseEvent {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return false;
  if (!Object.hasOwn(item, "data") && !Object.hasOwn(item, "comment")) return false;
  const unknown = Object.keys(item).find((key) => !eventKeys.includes(key));
  if (unknown === undefined) return true;
  throw new ValueError(`an event has no key '${unknown}'; an object that has a key 'data' is sent as { data: object }`);
}

function dataText(event: SseEvent, item: unknown): string | undefined {
  if (typeof event.data === "string") return event.data;
  const text = toJson(event.data);
  if (text === undefined && event.comment === undefined) {
    throw new ValueError(`${show(item)} cannot be sent as an event: it has no data`);
  }
  return text;
}

function lines(prefix: string, text: string | undefined): string {
  if (text === undefined) return "";
  const single = !text.includes("\n") && !text.includes("\r");
  return `${prefix}${single ? text : text.split(/\r\n|\r|\n/).join(`\n${prefix}`)}\n`;
}

/** A line break would end the field; an id with NUL is ignored by every client. */
function field(name: "event" | "id", value: string | number | undefined): string {
  if (value === undefined) return "";
  const text = String(value);
  if (/[\r\n]/.test(text)) throw new ValueError(`the ${name} of an event must not hold a line break`);
  if (name === "id" && text.includes("\0")) throw new ValueError("the id of an event must not hold NUL");
  return `${name}: ${text}\n`;
}

function retryField(retry: Duration | undefined): string {
  if (retry === undefined) return "";
  const allowed = isDuration()(retry);
  if (allowed !== undefined) throw new ValueError(`the retry of an event must be ${allowed}, not ${show(retry)}`);
  return `retry: ${milliseconds(retry)}\n`;
}
