import type { Writable } from "node:stream";
import { giveWay } from "../kit/time/give-way.js";
import { WebSocketClosedError } from "./closed-error.js";
import { BINARY, TEXT } from "./frame-reader.js";
import { writeFrame } from "./frame-writer.js";
import { OPEN, type RawSocket } from "./ws.js";

/** The cost of a waiting frame beside its bytes. */
const overhead = 128;
/** The multiple of the limit that may wait, if sends are not awaited, before the peer is given up. */
const maxOver = 4;
/** Waiting bytes up to which `waits` is not called. */
const minTold = 64 * 1024;

export interface SendLimits {
  /** Bytes that may wait for the peer to take them. */
  readonly maxBuffered: number;
  /** Milliseconds without a message taken while more than that waits. */
  readonly sendTimeout: number;
}

/** A message that the system has not taken yet, as far as we know. */
interface Sending {
  readonly cost: number;
  readonly resolve: (() => void) | null;
  readonly reject: ((error: Error) => void) | null;
}

const taken: Promise<void> = Promise.resolve();

/** Messages on their way out. A peer that does not take them is given up before they fill the memory. */
export class SendQueue {
  /** The stream for frames that are made here; null if `ws` has to make them. */
  readonly #wire: Writable | null;
  /** The bytes of which `#waits` knows. */
  #told = 0;
  /** In the order in which they were sent; they complete in the same order. */
  readonly #sendings: Sending[] = [];
  #waiting = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Messages handed to the system so far. */
  #count = 0;
  #sentBefore = 0;

  /** `waits` is called with the bytes that wait, when they are many. */
  constructor(
    private readonly raw: RawSocket,
    wire: Writable | null,
    private readonly limits: SendLimits,
    private readonly giveUp: (reason: string) => void,
    private readonly waits: ((bytes: number) => void) | null = null,
  ) {
    this.#wire = raw.extensions === "" ? wire : null;
  }

  /** Grows with everything that is handed to the system: messages, or bytes where they are counted. */
  get sent(): number {
    return this.raw.taken ?? this.#count;
  }

  /** Resolves when the data has been handed to the system. It need not be awaited: a failure is then not reported. */
  send(data: string | Uint8Array): Promise<void> {
    if (this.raw.readyState === OPEN && this.#waiting > maxOver * this.limits.maxBuffered) {
      this.giveUp("the peer takes messages slower than they are sent; await each send");
    }
    if (this.raw.readyState !== OPEN) return quietly(Promise.reject(closedError()));
    const sending = this.#send(data);
    this.#tell();
    return sending === taken ? (giveWay() ?? taken) : sending;
  }

  end(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #send(data: string | Uint8Array): Promise<void> {
    const raw = this.raw;
    // A message that the system took at once needs no separate promise.
    if (raw.trySend?.(data, this.#done)) return taken;
    const cost = data.length + overhead;
    this.#waiting += cost;
    if (this.#waiting > this.limits.maxBuffered && !this.#timer) {
      this.#sentBefore = this.sent;
      this.#timer = setTimeout(() => this.#late(), this.limits.sendTimeout);
      this.#timer.unref();
    }
    if (this.#wire !== null) {
      writeFrame(this.#wire, typeof data === "string" ? TEXT : BINARY, data, this.#done);
      if (this.#wire.writableLength === 0 && this.#wire.errored === null) {
        this.#sendings.push({ cost, resolve: null, reject: null });
        return taken;
      }
    }
    const sending = new Promise<void>((resolve, reject) => this.#sendings.push({ cost, resolve, reject }));
    if (this.#wire === null && raw.trySend === undefined) raw.send(data, this.#done);
    return quietly(sending);
  }

  #tell(): void {
    const bytes = this.#waiting > minTold ? this.#waiting : 0;
    if (bytes === this.#told) return;
    this.#told = bytes;
    this.waits?.(bytes);
  }

  /** The first waiting message has been taken, or has failed. */
  readonly #done = (error?: Error | null): void => {
    const { cost, resolve, reject } = this.#sendings.shift()!;
    this.#waiting -= cost;
    this.#count++;
    this.#tell();
    if (this.#waiting <= this.limits.maxBuffered) this.end();
    else if (this.#timer !== null) {
      this.#sentBefore = this.sent;
      this.#timer.refresh();
    }
    if (error) reject?.(closedError(error));
    else resolve?.();
  };

  #late(): void {
    const { sent } = this;
    // A long message is taken piece by piece.
    if (sent !== this.#sentBefore) {
      this.#sentBefore = sent;
      this.#timer?.refresh();
      return;
    }
    // If the process was suspended, the messages that the peer took in between are counted before this callback.
    setImmediate(() => {
      if (this.#timer && sent === this.sent) this.giveUp("the peer does not take what it is sent");
    });
  }
}

/** Marks a rejection as handled. */
function quietly(sending: Promise<void>): Promise<void> {
  sending.catch(() => {});
  return sending;
}

function closedError(cause?: Error): WebSocketClosedError {
  return new WebSocketClosedError("the WebSocket is closed", cause && { cause });
}
