import type { Writable } from "node:stream";
import { toJson } from "../http/json/to-json.js";
import { addSnakeNames, type SnakeMembers } from "../kit/names.js";
import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import { checkClose } from "./close-code.js";
import { Heartbeat } from "./heartbeat.js";
import { Inbox, MessageIterator } from "./inbox.js";
import { Message } from "./message.js";
import { MessageRate } from "./message-rate.js";
import { type SendLimits, SendQueue } from "./send-queue.js";
import { closeCodeOf, OPEN, type PatientSocket, type RawSocket } from "./ws.js";

/** Pongs that may wait for the system at once. */
const maxPongs = 64;
/** Milliseconds that a handler gets to take the messages before a bad frame. */
const messagesBeforeFailure = 1000;

export interface ChannelLimits extends SendLimits {
  /** Bytes of received messages that may wait; with more, reading from the peer is paused. */
  readonly maxQueued: number;
  readonly maxMessageSize: number;
  /** Milliseconds between pings; 0 for none. */
  readonly heartbeat: number;
  /** Messages that the peer may send per second, and at once; undefined for any number. */
  readonly messageRate: number | undefined;
  readonly messageBurst: number | undefined;
}

/** The end of a WebSocket. Without a close frame of the peer the code is 1006, with our own reason. */
export interface CloseInfo {
  readonly code: number;
  readonly reason: string;
}

class BaseChannel implements AsyncIterable<Message> {
  /** Resolves when the connection has ended; never rejects. */
  readonly closed: Promise<CloseInfo>;
  readonly #raw: RawSocket;
  readonly #inbox: Inbox;
  readonly #queue: SendQueue;
  readonly #heartbeat: Heartbeat | null;
  /** Pongs that the system has not taken yet. */
  #pongs = 0;
  /** The latest ping beyond the bound; it is answered when there is room. */
  #nextPong: Buffer | null = null;
  /** @internal Called once, if the peer sends more messages than it may. */
  onFlood: (() => void) | null = null;
  #failure: CloseInfo | null = null;
  #closeInfo: CloseInfo | null = null;

  /** `wire` is the stream of the socket, if messages can be written to it directly. `waits` learns of bytes that wait. */
  constructor(
    raw: RawSocket,
    limits: ChannelLimits,
    wire: Writable | null = null,
    waits: ((bytes: number) => void) | null = null,
  ) {
    this.#raw = raw;
    const inbox = new Inbox(raw, limits.maxQueued);
    const queue = new SendQueue(raw, wire, limits, (reason) => this.terminate(reason), waits);
    const watched = {
      wasPaused: () => inbox.wasPaused(),
      get sent() {
        return queue.sent;
      },
      giveUp: (reason: string) => this.terminate(reason),
    };
    this.#inbox = inbox;
    this.#queue = queue;
    this.#heartbeat = limits.heartbeat > 0 ? new Heartbeat(raw, watched, limits.heartbeat) : null;
    // Only compressed messages can get here: some thousand bytes that were read already may become as many megabytes.
    const tooMuch = 4 * (limits.maxQueued + limits.maxMessageSize);
    const { messageRate, messageBurst = Math.max(1, Math.ceil(messageRate ?? 1)) } = limits;
    const rate = messageRate === undefined ? null : new MessageRate(messageRate, messageBurst);
    raw.on("message", (data, isBinary) => {
      this.heard();
      if (rate?.take(performance.now()) === false) {
        // Messages that arrive before the end are discarded.
        if (this.isOpen) this.onFlood?.();
        this.#fail(1008, "too many messages");
      }
      inbox.put(new Message(data, isBinary), data.length);
      if (inbox.cost > tooMuch) this.#fail(1008, "too many messages at once");
    });
    raw.on("ping", (data) => {
      this.heard();
      this.#answerPing(data);
    });
    raw.on("pong", () => this.heard());
    raw.on("error", (error) => {
      if (error.code?.startsWith("WS_ERR_")) this.#failure ??= { code: closeCodeOf(error.code), reason: error.message };
    });
    (raw as PatientSocket).beforeFailing = (fail) => this.#failAfterMessages(fail);
    this.closed = new Promise((resolve) => {
      raw.on("close", (code, reason) => {
        this.#closeInfo = this.#failure ?? { code, reason: reason.toString("utf8") };
        this.#heartbeat?.stop();
        queue.end();
        inbox.end();
        resolve(this.#closeInfo);
      });
    });
  }

  /** True if messages can be sent. */
  get isOpen(): boolean {
    return this.#raw.readyState === OPEN;
  }

  /** The code with which the connection ended; undefined while it has not. */
  get closeCode(): number | undefined {
    return this.#closeInfo?.code;
  }

  /** The subprotocol agreed upon; empty when none was. */
  get protocol(): string {
    return this.#raw.protocol;
  }

  /** Bytes that wait for the peer to take them. */
  get bufferedAmount(): number {
    return this.#raw.bufferedAmount;
  }

  /**
   * Sends a text message. The promise resolves when the system has taken the data, so that a sender that awaits it is
   * no faster than the peer. It rejects if the peer has disconnected. It need not be awaited.
   */
  sendText(text: string): Promise<void> {
    if (typeof text !== "string") throw new ValueError(`sendText takes a string, not ${show(text)}`);
    return this.#queue.send(text);
  }

  /** Sends a binary message, as `sendText` does. The bytes must not be changed before it resolves. */
  sendBytes(bytes: Uint8Array): Promise<void> {
    if (!(bytes instanceof Uint8Array)) throw new ValueError(`sendBytes takes a Uint8Array, not ${show(bytes)}`);
    return this.#queue.send(bytes);
  }

  /** Sends a value as JSON in a text message, as `sendText` does. */
  sendJson(value: unknown): Promise<void> {
    const text = toJson(value);
    if (text === undefined) throw new ValueError(`${typeof value} cannot be sent as JSON`);
    return this.#queue.send(text);
  }

  /** The next message; null when the connection has ended. */
  recv(): Promise<Message | null> {
    return this.#inbox.take();
  }

  /** The messages until the connection ends. Leaving the loop does not close it. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Message> {
    return new MessageIterator(this.#inbox);
  }

  /** Closes the connection. Messages that arrive later are discarded. Resolves when the connection has ended. */
  close(code: number = 1000, reason: string = ""): Promise<CloseInfo> {
    checkClose(code, reason);
    this.#inbox.discard();
    this.#close(code, reason);
    return this.closed;
  }

  /** @internal Ends the connection at once, without a word to the peer. */
  terminate(reason: string): void {
    this.#failure ??= { code: 1006, reason };
    this.#inbox.discard();
    this.#raw.terminate();
  }

  /** @internal The peer is alive. */
  heard(): void {
    this.#heartbeat?.heard();
  }

  #fail(code: number, reason: string): void {
    this.#failure ??= { code, reason };
    this.#inbox.discard();
    this.#close(code, reason);
  }

  #close(code: number, reason: string): void {
    delete (this.#raw as PatientSocket).beforeFailing;
    this.#raw.close(code, reason);
  }

  /** The peer has sent a bad frame. The handler takes the messages that came before it, for a bounded time. */
  #failAfterMessages(fail: () => void): void {
    delete (this.#raw as PatientSocket).beforeFailing;
    const timer = setTimeout(fail, messagesBeforeFailure);
    timer.unref();
    this.#inbox.whenEmpty(() => {
      clearTimeout(timer);
      fail();
    });
  }

  /**
   * Each ping gets its pong, up to a bound: a peer that sends pings and reads nothing would fill the memory with pongs.
   * Beyond it the latest one alone is answered, as RFC 6455 section 5.5.3 allows.
   */
  #answerPing(data: Buffer): void {
    if (this.#pongs >= maxPongs) {
      this.#nextPong = data;
      return;
    }
    this.#pongs++;
    this.#raw.pong(data, () => {
      this.#pongs--;
      const next = this.#nextPong;
      this.#nextPong = null;
      if (next !== null && this.isOpen) this.#answerPing(next);
    });
  }
}

/** A WebSocket on either side: sends and receives messages, in each direction at the pace of the slower side. */
export class Channel extends BaseChannel {}
export interface Channel extends SnakeMembers<BaseChannel, (typeof spelledTwice)[number], Channel> {}
const spelledTwice = ["sendText", "sendBytes", "sendJson", "isOpen", "closeCode", "bufferedAmount"] as const;
addSnakeNames(BaseChannel.prototype, spelledTwice);
