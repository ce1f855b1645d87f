import type { Readable } from "node:stream";
import { type BodyMemory, bodyMemoryFull } from "../../../server/body/body-memory.js";
import { GrpcError } from "../grpc-error.js";
import { malformedCall } from "../malformed-call.js";
import { type Frame, FrameParser } from "../wire/frames.js";

/** The frames of a request, one after the other. */
export interface Incoming {
  /** The next frame; null at the end. */
  next(): Frame | null | Promise<Frame | null>;
  /** Calls back with all frames once the request has ended, or with the error. For a request that is no stream. */
  whole?(done: (frames: readonly Frame[], error: unknown) => void): void;
  /** Drops all that still comes. */
  discard(): void;
  /** The call is over: each further `next` throws the error. */
  fail(error: unknown): void;
}

/** Bytes and frames that wait for the handler. With more of them the stream is paused, and so is the client. */
const maxWaitingBytes = 65_536;
const maxWaitingFrames = 64;

/** Frames that a stream of node:http2 pushes. A handler that does not take them pauses the client. */
export class PushedFrames implements Incoming {
  readonly #stream: Readable;
  readonly #parser: FrameParser;
  /** Null once the stream is closed. */
  #memory: BodyMemory | null;
  /** The bytes that this stream has taken of the memory. */
  #held = 0;
  #frames: Frame[] = [];
  #taken = 0;
  #bytes = 0;
  #paused = false;
  #ended = false;
  #error: unknown = null;
  #whole: ((frames: readonly Frame[], error: unknown) => void) | null = null;
  #waiting: { resolve: (frame: Frame | null) => void; reject: (error: unknown) => void } | null = null;

  /**
   * `memory` bounds the messages that all streams together keep until they are complete and taken. `isCut` is true if the
   * other end has broken off the stream: Node ends it then, as if it were complete.
   */
  constructor(stream: Readable, limit: number, memory: BodyMemory | null = null, isCut = () => false) {
    this.#stream = stream;
    this.#parser = new FrameParser(limit);
    this.#memory = memory;
    stream.on("data", (piece: Buffer) => this.#push(piece));
    stream.on("end", () => {
      if (isCut()) this.fail(new GrpcError("CANCELLED", "the client has cancelled the call"));
      else this.#end();
    });
    if (memory === null) return;
    stream.on("close", () => {
      this.#hold(0);
      this.#memory = null;
    });
  }

  next(): Frame | null | Promise<Frame | null> {
    if (this.#taken < this.#frames.length) return this.#take();
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#ended) return null;
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  whole(done: (frames: readonly Frame[], error: unknown) => void): void {
    if (this.#error !== null) done([], this.#error);
    else if (this.#ended) done(this.#frames, null);
    else this.#whole = done;
  }

  fail(error: unknown): void {
    if (this.#ended || this.#error !== null) return;
    this.#error = error;
    this.#hold(0);
    const whole = this.#whole;
    this.#whole = null;
    whole?.([], error);
    this.#waiting?.reject(error);
    this.#waiting = null;
  }

  discard(): void {
    this.#frames = [];
    this.#taken = 0;
    this.fail(new GrpcError("CANCELLED", "the call is over"));
    this.#stream.resume();
  }

  #take(): Frame {
    const frame = this.#frames[this.#taken]!;
    this.#bytes -= frame.data.length;
    this.#hold(this.#parser.held + this.#bytes);
    if (++this.#taken === this.#frames.length) {
      this.#frames.length = 0;
      this.#taken = 0;
    }
    if (this.#paused && this.#bytes < maxWaitingBytes && this.#frames.length - this.#taken < maxWaitingFrames) {
      this.#paused = false;
      this.#stream.resume();
    }
    return frame;
  }

  #hold(bytes: number): void {
    this.#memory?.take(bytes - this.#held);
    this.#held = bytes;
  }

  #push(piece: Buffer): void {
    if (this.#error !== null) return;
    const before = this.#frames.length;
    try {
      this.#parser.push(piece, this.#frames);
    } catch (error) {
      this.fail(error);
      return;
    }
    for (let i = before; i < this.#frames.length; i++) this.#bytes += this.#frames[i]!.data.length;
    const held = this.#parser.held + this.#bytes;
    if (held > this.#held && this.#memory?.isFull) {
      this.fail(bodyMemoryFull());
      return;
    }
    this.#hold(held);
    if (this.#waiting !== null && this.#frames.length > this.#taken) {
      const { resolve } = this.#waiting;
      this.#waiting = null;
      resolve(this.#take());
    }
    if (this.#whole !== null) {
      // More than one message is an error, whatever else comes.
      if (this.#frames.length > 1) this.#end();
      return;
    }
    const { length } = this.#frames;
    if (!this.#paused && (this.#bytes >= maxWaitingBytes || length - this.#taken >= maxWaitingFrames)) {
      this.#paused = true;
      this.#stream.pause();
    }
  }

  #end(): void {
    if (!this.#parser.idle) {
      this.fail(malformedCall("the request ends in the middle of a message"));
      return;
    }
    this.#ended = true;
    const whole = this.#whole;
    this.#whole = null;
    if (whole !== null) {
      this.#hold(0);
      whole(this.#frames, null);
    }
    this.#waiting?.resolve(null);
    this.#waiting = null;
  }
}

/** Frames that are pulled out of a body, as fast as the handler takes them. */
export class PulledFrames implements Incoming {
  readonly #body: AsyncIterator<Uint8Array>;
  readonly #parser: FrameParser;
  #frames: Frame[] = [];
  #ended = false;
  #failure: unknown = null;

  constructor(body: AsyncIterator<Uint8Array>, limit: number) {
    this.#body = body;
    this.#parser = new FrameParser(limit);
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.discard();
  }

  async next(): Promise<Frame | null> {
    while (this.#frames.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#ended) return null;
      const { done, value } = await this.#body.next();
      if (done) {
        this.#ended = true;
        if (!this.#parser.idle) throw malformedCall("the request ends in the middle of a message");
      } else {
        this.#parser.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength), this.#frames);
      }
    }
    return this.#frames.shift()!;
  }

  discard(): void {
    this.#frames = [];
    this.#ended = true;
    this.#failure ??= new GrpcError("CANCELLED", "the call is over");
    void Promise.resolve(this.#body.return?.()).catch(() => {});
  }
}

/** A message that is known whole: the body of a unary call of Connect. */
export class SingleFrame implements Incoming {
  #taken = false;

  constructor(private readonly read: () => Promise<Frame>) {}

  next(): null | Promise<Frame> {
    if (this.#taken) return null;
    this.#taken = true;
    return this.read();
  }

  discard(): void {}

  fail(): void {}
}
