import { type HttpError, httpError } from "../../errors/http-error.js";
import type { IncomingBody } from "../../http/source.js";
import { type BodyMemory, bodyMemoryFull } from "./body-memory.js";
import { ByteQueue } from "./byte-queue.js";

/** The connection, as far as a body uses it. */
export interface BodyHost {
  /** Shared by the bodies of all connections. */
  readonly bodyMemory: BodyMemory;
  /** A handler asks for a body that has not all arrived: a client that waits for permission may send it. */
  bodyWanted(): void;
  /** There may be room for more of the body. */
  bodyDrained(): void;
}

/** Bytes that count as progress: a client that drips a body, a byte a second, makes none. */
export const bodyProgress = 1024;
/** Bytes that are kept for a handler that does not take them. */
const highWater = 64 * 1024;

// The user of the body.
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
  /** The bytes that count in the shared memory. */
  #counted = 0;
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

  /** Bytes still to come; infinite if the length is not known. */
  get left(): number {
    if (this.complete) return 0;
    return this.length === undefined ? Number.POSITIVE_INFINITY : this.length - this.#arrived;
  }

  /** The bytes that have arrived. */
  get arrived(): number {
    return this.#arrived;
  }

  /** True if the body is being read into memory as a whole. */
  get isBuffered(): boolean {
    return this.#user === READER;
  }

  /** True if a handler has asked for the body, and so gets its error. */
  get engaged(): boolean {
    return this.#user !== NOBODY;
  }

  /** True if the connection should wait before it reads on. */
  get full(): boolean {
    return this.#user !== READER && this.#queue !== null && this.#queue.size >= highWater;
  }

  /** Takes the next piece of the body. */
  add(piece: Uint8Array): void {
    this.#arrived += piece.length;
    if (this.#user === DROPPED) return;
    if (this.#arrived > this.#limit) {
      this.#refuse(httpError("PAYLOAD_TOO_LARGE"));
      return;
    }
    if (this.#user === READER) {
      if (this.#host.bodyMemory.isFull) {
        this.#refuse(bodyMemoryFull());
        return;
      }
      this.#count(piece.length);
    }
    if (this.#arrived === this.length && this.#queue === null) this.#whole = piece;
    else (this.#queue ??= new ByteQueue()).push(piece);
    if (this.#user === STREAM) this.#wakeUp();
  }

  finish(): void {
    this.complete = true;
    this.#uncount();
    this.#wakeUp();
  }

  /** The rest will not come, or is not valid. */
  fail(error: HttpError): void {
    if (this.complete) return;
    this.#error ??= error;
    this.#uncount();
    this.#wakeUp();
  }

  /** The rest is not wanted. */
  drop(): void {
    this.#user = DROPPED;
    this.#queue = null;
    this.#uncount();
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

  /** Drops the body, of which a handler gets the error. */
  #refuse(error: HttpError): void {
    this.#error = error;
    this.#user = DROPPED;
    this.#queue = null;
    this.#uncount();
    this.#wakeUp();
  }

  #count(bytes: number): void {
    this.#counted += bytes;
    this.#host.bodyMemory.take(bytes);
  }

  #uncount(): void {
    if (this.#counted === 0) return;
    this.#host.bodyMemory.release(this.#counted);
    this.#counted = 0;
  }

  #engage(user: number, limit: number): void {
    if (this.#user !== NOBODY) throw new Error("the body has been read already");
    if ((this.length ?? this.#arrived) > limit) {
      this.drop();
      throw httpError("PAYLOAD_TOO_LARGE");
    }
    const isArriving = !this.complete && !this.#error;
    if (user === READER && isArriving) {
      if (this.#host.bodyMemory.isFull) {
        this.drop();
        throw bodyMemoryFull();
      }
      this.#count(this.#arrived);
    }
    this.#limit = limit;
    this.#user = user;
    if (isArriving) this.#host.bodyWanted();
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
