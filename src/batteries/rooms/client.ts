import { type Deferred, deferred } from "../../kit/deferred.js";
import { readMessageText } from "./message-text.js";
import type { StoredMessage } from "./store.js";

/** A message as it is sent to the clients of this process. Made once for all of them. */
export class Delivery {
  readonly id: number;
  /** The id of a client that does not get it. */
  readonly except: string | null;
  readonly #room: string;
  readonly #json: string;
  #text: string | null = null;
  #data: { readonly value: unknown } | null = null;
  #envelope: string | null = null;

  constructor(room: string, { id, text }: StoredMessage) {
    this.id = id;
    this.#room = room;
    const { json, except } = readMessageText(text);
    this.except = except;
    this.#json = json;
  }

  /** A string as it is, anything else as JSON. */
  get text(): string {
    this.#text ??= this.#json.startsWith('"') ? (JSON.parse(this.#json) as string) : this.#json;
    return this.#text;
  }

  /** Shared by all who subscribe: to be read only. */
  get data(): unknown {
    this.#data ??= { value: JSON.parse(this.#json) as unknown };
    return this.#data.value;
  }

  get envelope(): string {
    this.#envelope ??= `{"room":${JSON.stringify(this.#room)},"id":"${this.id}","data":${this.#json}}`;
    return this.#envelope;
  }
}

/** A client in a room. */
export interface RoomClient {
  deliver(delivery: Delivery): void;
  /** Messages that the client has not seen are no longer kept. */
  missed(): void;
  /** Tells who is in the room. Only for a client that has asked for it; the data is JSON. */
  tell(event: "present" | "joined" | "left", data: string): void;
  /** Null if the client can take more; otherwise resolves when it can, or when it has ended. */
  drained(): Promise<void> | null;
}

export interface BufferLimits {
  readonly maxBuffered: number;
  readonly onSlow: "disconnect" | "drop";
}

interface Waiting<Item> {
  readonly item: Item;
  readonly size: number;
}

/** Messages that wait for one client, up to a number of bytes. */
export class ClientBuffer<Item> {
  readonly #items: Waiting<Item>[] = [];
  #size = 0;
  #draining: Deferred<void> | null = null;

  constructor(private readonly limits: BufferLimits) {}

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** False if the client is too slow and is to be disconnected. The newest message is kept, whatever its size. */
  push(item: Item, size: number): boolean {
    this.#items.push({ item, size });
    this.#size += size;
    if (this.#size <= this.limits.maxBuffered) return true;
    if (this.limits.onSlow === "disconnect") return this.#items.length === 1;
    while (this.#size > this.limits.maxBuffered && this.#items.length > 1) this.shift();
    return true;
  }

  shift(): Item | undefined {
    const first = this.#items.shift();
    if (first !== undefined) this.#size -= first.size;
    this.#settle();
    return first?.item;
  }

  clear(): void {
    this.#items.length = 0;
    this.#size = 0;
    this.#settle();
  }

  /** Null if at least half of the buffer is free; otherwise resolves as soon as it is. */
  drained(): Promise<void> | null {
    if (this.#isRoomy) return null;
    return (this.#draining ??= deferred()).promise;
  }

  get #isRoomy(): boolean {
    return this.#size <= this.limits.maxBuffered / 2;
  }

  #settle(): void {
    if (this.#draining === null || !this.#isRoomy) return;
    this.#draining.resolve();
    this.#draining = null;
  }
}

/** The cost of a waiting message beside its text. */
export const messageOverhead = 64;
