import type { RoomLimits, StoredHistory, StoredMessage } from "./store.js";

interface Log {
  messages: StoredMessage[];
  /** The id of the last message that was dropped. */
  dropped: number;
  size: number;
  sentAt: number;
}

/** Characters of all messages together. */
const maxSize = 32 * 1024 * 1024;
const overhead = 64;

/** The last messages of rooms, in memory. The rooms that were sent to longest ago go first. */
export class RoomLog {
  /** Least recent first. */
  readonly #logs = new Map<string, Log>();
  #size = 0;
  #lastId = 0;

  constructor(private readonly limits: RoomLimits) {}

  get rooms(): number {
    return this.#logs.size;
  }

  add(room: string, text: string): StoredMessage {
    // By the clock, so that ids continue growing when the process is started again.
    this.#lastId = Math.max(this.#lastId + 1, Math.floor(Date.now() * 1000));
    const message = { id: this.#lastId, text };
    const { history, maxRooms } = this.limits;
    if (history === 0) return message;
    // A new log says nothing of the messages before it: it may have been dropped, or the process started again.
    const log = this.#alive(room) ?? { messages: [], dropped: message.id - 1, size: 0, sentAt: 0 };
    this.#logs.delete(room);
    this.#logs.set(room, log);
    log.sentAt = performance.now();
    log.messages.push(message);
    this.#resize(log, text.length + overhead);
    if (log.messages.length > history) this.#dropFirst(log);
    while (this.#logs.size > maxRooms || (this.#size > maxSize && this.#logs.size > 1)) this.#dropOldest();
    return message;
  }

  since(room: string, after: number): StoredHistory {
    const log = this.#alive(room);
    // An id of the future is that of a clock that was set back: everything may be new to its owner.
    if (log === undefined) return { messages: [], isIncomplete: after > 0 };
    const messages = after > this.#lastId ? [...log.messages] : log.messages.filter(({ id }) => id > after);
    return { messages, isIncomplete: after > this.#lastId || (after > 0 && after < log.dropped) };
  }

  #alive(room: string): Log | undefined {
    const log = this.#logs.get(room);
    if (log === undefined || performance.now() - log.sentAt < this.limits.keepMs) return log;
    this.#drop(room, log);
    return undefined;
  }

  #dropFirst(log: Log): void {
    const first = log.messages.shift()!;
    log.dropped = first.id;
    this.#resize(log, -first.text.length - overhead);
  }

  #dropOldest(): void {
    const [room, log] = this.#logs.entries().next().value!;
    this.#drop(room, log);
  }

  #drop(room: string, log: Log): void {
    this.#logs.delete(room);
    this.#size -= log.size;
  }

  #resize(log: Log, by: number): void {
    log.size += by;
    this.#size += by;
  }
}
