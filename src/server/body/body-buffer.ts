import { type HttpError, httpError } from "../../errors/http-error.js";
import type { IncomingBody } from "../../http/source.js";
import { ByteQueue } from "./byte-queue.js";

/** The connection as far as a body needs to know it. */
export interface BodyHost {
  /** Somebody asks for the body: a client that waits for permission to send it may do so. */
  bodyWanted(): void;
  /** There may be room for more of the body. */
  bodyDrained(): void;
}

/** Bytes that count as progress: a client that drips a body, a byte a second, makes none. */
export const bodyProgress = 1024;
/** Bytes that are kept for a handler that does not take them. */
const highWater = 64 * 1024;

// Who wants the body.
const NOBODY = 0;
const READER = 1;
const STREAM = 2;
const DROPPED = 3;

/** The body of a request between the connection, which adds to it, and the handler, which takes it. */
export class BodyBuffer implements IncomingBody {
  readonly length: number | undefined;
  /** All of it has arrived. */
  complete = false;
  readonly #host: BodyHost;
  #whole: Uint8Array | null = null;
  #queue: ByteQueue | null = null;
  #user = NOBODY;
  #arrived = 0;
  #limit = Number.POSITIVE_INFINITY;
  #error: HttpError | null = null;
  #wake: (() => void) | null = null;

  constructor(host: BodyHost, length: number | undefined) {
    this.#host = host;
    this.length = length;
  }

  get received(): Uint8Array | null {
    if (!this.complete || this.#user !== NOBODY) return null;
    return (this.#whole ??= this.#queue?.takeAll() ?? new Uint8Array(0));
  }

  /** Bytes still to come; infinite while nobody can say. */
  get left(): number {
    if (this.complete) return 0;
    return this.length === undefined ? Number.POSITIVE_INFINITY : this.length - this.#arrived;
  }

  /** How much of it has arrived. */
  get arrived(): number {
    return this.#arrived;
  }

  /** Whether a handler has asked for it, and so hears of an error (or has heard of one). */
  get engaged(): boolean {
    return this.#user !== NOBODY;
  }

  /** Whether the connection should wait before it reads on. */
  get full(): boolean {
    return this.#user !== READER && this.#queue !== null && this.#queue.size >= highWater;
  }

  /** Takes the next piece of the body. */
  add(piece: Uint8Array): void {
    this.#arrived += piece.length;
    if (this.#user === DROPPED) return;
    if (this.#arrived > this.#limit) {
      this.#error = httpError("PAYLOAD_TOO_LARGE");
      this.#user = DROPPED;
      this.#queue = null;
      this.#wakeUp();
      return;
    }
    if (this.#arrived === this.length && this.#queue === null) this.#whole = piece;
    else (this.#queue ??= new ByteQueue()).push(piece);
    if (this.#user === STREAM) this.#wakeUp();
  }

  finish(): void {
    this.complete = true;
    this.#wakeUp();
  }

  /** The rest will not come, or is not valid. */
  fail(error: HttpError): void {
    if (this.complete) return;
    this.#error ??= error;
    this.#wakeUp();
  }

  /** Nobody wants the rest. */
  drop(): void {
    this.#user = DROPPED;
    this.#queue = null;
    this.#host.bodyDrained();
  }

  async read(limit: number): Promise<Uint8Array> {
    this.#engage(READER, limit);
    while (!this.complete && !this.#error) await this.#next();
    if (this.#error) throw this.#error;
    return (this.#whole ??= this.#queue?.takeAll() ?? new Uint8Array(0));
  }

  async *stream(limit: number): AsyncIterableIterator<Uint8Array> {
    this.#engage(STREAM, limit);
    try {
      for (;;) {
        const piece = this.#takePiece();
        if (piece) {
          this.#host.bodyDrained();
          if (piece.length > 0) yield piece;
        } else if (this.#error) {
          throw this.#error;
        } else if (this.complete) {
          return;
        } else {
          await this.#next();
        }
      }
    } finally {
      this.drop();
    }
  }

  #engage(user: number, limit: number): void {
    if (this.#user !== NOBODY) throw new Error("the body has been read already");
    if ((this.length ?? this.#arrived) > limit) {
      this.drop();
      throw httpError("PAYLOAD_TOO_LARGE");
    }
    this.#limit = limit;
    this.#user = user;
    if (!this.complete && !this.#error) this.#host.bodyWanted();
    this.#host.bodyDrained();
  }

  #takePiece(): Uint8Array | undefined {
    const whole = this.#whole;
    if (whole === null) return this.#queue?.shift();
    this.#whole = null;
    return whole;
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
