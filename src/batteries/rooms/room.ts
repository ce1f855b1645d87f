import type { SendOptions, SubscribeOptions } from "./join-options.js";

export interface RoomMessage<Data = unknown> {
  readonly id: string;
  readonly data: Data;
}

export interface RoomMember {
  readonly id: string;
  /** The value given to `join` or `stream`. */
  readonly info: unknown;
}

export interface RoomMembers {
  /** All clients in the room. */
  readonly count: number;
  /** As many of them as `maxListed` allows. */
  readonly members: readonly RoomMember[];
}

/** A room: all its members get what is sent to it, in the same order. */
export interface Room<Data = unknown> {
  readonly name: string;
  /**
   * Sends a value as JSON to all in the room, or to all except one WebSocket; a string is sent as it is. Returns
   * the id of the message.
   */
  send(value: Data, options?: SendOptions): Promise<string>;
  /**
   * New messages, as JSON gives them back: for GraphQL subscriptions and other code of the application. It ends
   * with an error if messages were lost, or wait for longer than `maxBuffered` allows.
   */
  subscribe(options?: SubscribeOptions<Data>): AsyncIterableIterator<Data>;
  /** The clients in the room. */
  members(): Promise<RoomMembers>;
  /** The messages that are kept, oldest first; with an id those after it. */
  history(after?: string): Promise<RoomMessage<Data>[]>;
}
