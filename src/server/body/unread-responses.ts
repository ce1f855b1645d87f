/** The code of connections that were ended because their clients do not read, in metrics and in the log. */
export const responsesUnread = "RESPONSES_UNREAD";

/** A connection, or its socket. */
export interface UnreadClient {
  destroy(): unknown;
}

/** Seconds above the bound in which a client has to take something. Counted in ticks, so a blocked event loop makes none late. */
const patience = 5;

interface Waiting {
  /** Bytes that were written and not taken. */
  bytes: number;
  /** Memory of the texts that are sent in parts. */
  texts: number;
  /** The memory of the bodies of bytes that are sent in parts, one for each response. */
  readonly buffers: ArrayBufferLike[];
  /** The tick at which the client took some, or its first bytes began to wait. */
  since: number;
}

/** What a body takes in memory while it is sent in parts. */
export interface HeldBody {
  /** The memory of bytes, which other responses may send too; null for a text. */
  readonly buffer: ArrayBufferLike | null;
  readonly size: number;
}

/** Counts the bodies that are sent in parts. */
export interface BodyHolder {
  hold(body: HeldBody): void;
  release(body: HeldBody): void;
}

/**
 * Counts the bytes of responses that wait for their clients, over all connections of a server, and bounds them: beyond,
 * the connections end whose clients have taken nothing for the longest. Those of the last seconds are spared up to twice
 * the bound: many responses at once are no attack. Bytes count that are left after a write, so a client that reads costs
 * nothing here. A body that is sent in parts counts beside its parts, until the last of them is written. Bytes that many
 * responses send count once.
 */
export class UnreadResponses {
  readonly #max: number;
  readonly #onEnd: (code: string) => void;
  /** What waits for each client. One that has taken some moves to the end. */
  readonly #waiting = new Map<UnreadClient, Waiting>();
  /** How many responses send the same bytes in parts. */
  readonly #users = new Map<ArrayBufferLike, number>();
  #used = 0;
  /** Counts the seconds above the bound. */
  #tick = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Connections were ended in this turn of the event loop. */
  #freeing = false;
  /** Work that was delayed until their memory is free. */
  readonly #delayed = new Set<() => void>();

  /** `max` is 0 for no bound. `onEnd` is called for each connection that is ended. */
  constructor(max: number, onEnd: ((code: string) => void) | undefined) {
    this.#max = max === 0 ? Number.POSITIVE_INFINITY : max;
    this.#onEnd = onEnd ?? (() => {});
  }

  get used(): number {
    return this.#used;
  }

  /** So many bytes wait for a client now; 0 if it has taken all or has left. */
  set(client: UnreadClient, bytes: number): void {
    const known = this.#waiting.get(client);
    const before = known?.bytes ?? 0;
    if (bytes === before) return;
    const waiting = known ?? this.#add(client);
    waiting.bytes = bytes;
    if (bytes < before) {
      waiting.since = this.#tick;
      this.#waiting.delete(client);
      if (holdsAny(waiting)) this.#waiting.set(client, waiting);
    }
    this.#use(bytes - before);
  }

  /** A body is sent in parts, and the client is behind. */
  hold(client: UnreadClient, { buffer, size }: HeldBody): void {
    const waiting = this.#waiting.get(client) ?? this.#add(client);
    if (buffer === null) {
      waiting.texts += this.#counted(size);
      this.#use(this.#counted(size));
      return;
    }
    const users = this.#users.get(buffer) ?? 0;
    this.#users.set(buffer, users + 1);
    waiting.buffers.push(buffer);
    if (users === 0) this.#use(this.#counted(buffer.byteLength));
  }

  /** All of a body is written, or its client has left. */
  release(client: UnreadClient, { buffer, size }: HeldBody): void {
    const waiting = this.#waiting.get(client);
    // It was ended here.
    if (waiting === undefined) return;
    if (buffer === null) {
      waiting.texts -= this.#counted(size);
      this.#used -= this.#counted(size);
    } else {
      waiting.buffers.splice(waiting.buffers.indexOf(buffer), 1);
      this.#leave(buffer);
    }
    if (!holdsAny(waiting)) this.#waiting.delete(client);
  }

  /**
   * True if work that makes responses has to wait; it is then called later. Node frees the memory of an ended connection in
   * the next turn of the event loop: a burst of requests within one turn would go beyond any bound.
   */
  delays(work: () => void): boolean {
    if (this.#freeing) this.#delayed.add(work);
    return this.#freeing;
  }

  #add(client: UnreadClient): Waiting {
    const waiting = { bytes: 0, texts: 0, buffers: [], since: this.#tick };
    this.#waiting.set(client, waiting);
    return waiting;
  }

  /** A body counts up to half of the bound: a larger one could not be sent at all. */
  #counted(size: number): number {
    return Math.min(size, Math.floor(this.#max / 2));
  }

  #leave(buffer: ArrayBufferLike): void {
    const users = this.#users.get(buffer)! - 1;
    if (users > 0) {
      this.#users.set(buffer, users);
      return;
    }
    this.#users.delete(buffer);
    this.#used -= this.#counted(buffer.byteLength);
  }

  #use(bytes: number): void {
    this.#used += bytes;
    if (this.#used > this.#max) this.#shrink();
  }

  #shrink(): void {
    for (const [client, { bytes, texts, buffers, since }] of this.#waiting) {
      if (this.#used <= this.#max || (this.#used <= 2 * this.#max && this.#tick < since + patience)) break;
      this.#waiting.delete(client);
      this.#used -= bytes + texts;
      for (const buffer of buffers) this.#leave(buffer);
      this.#onEnd(responsesUnread);
      client.destroy();
      if (!this.#freeing) setImmediate(() => this.#freed());
      this.#freeing = true;
    }
    // Clients that do nothing cause no call of `set`: a timer looks at them while they are too many.
    if (this.#used > this.#max) this.#timer ??= setInterval(() => this.#step(), 1000).unref();
  }

  #freed(): void {
    this.#freeing = false;
    for (const work of this.#delayed) {
      this.#delayed.delete(work);
      work();
      if (this.#freeing) return;
    }
  }

  #step(): void {
    this.#tick++;
    if (this.#used > this.#max) this.#shrink();
    if (this.#used > this.#max || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

function holdsAny({ bytes, texts, buffers }: Waiting): boolean {
  return bytes > 0 || texts > 0 || buffers.length > 0;
}

/** Takes the bytes that wait for a client of another protocol. Those of a destroyed socket do not count. */
export function countFor(
  socket: UnreadClient & { readonly destroyed?: boolean },
  unread: UnreadResponses,
): (bytes: number) => void {
  return (bytes) => unread.set(socket, socket.destroyed ? 0 : bytes);
}
