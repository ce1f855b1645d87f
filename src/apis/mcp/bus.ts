import type { Rooms } from "../../batteries/rooms/rooms.js";
import type { RelayedMessage } from "./exchange.js";
import type { RpcReply } from "./protocol.js";

/** What workers tell each other: a client's next request may reach any of them. */
export type BusMessage =
  | { readonly kind: "reply"; readonly session: string; readonly reply: RpcReply }
  | { readonly kind: "cancel"; readonly call: string }
  /** A client waits for the messages of an exchange after a number. It says so again and again. */
  | { readonly kind: "back"; readonly session: string; readonly exchange: string; readonly after: number }
  | { readonly kind: "updated"; readonly uri: string }
  | { readonly kind: "subscribed"; readonly session: string; readonly uri: string; readonly on: boolean }
  /** A client has opened a stream: it has one at a time. */
  | { readonly kind: "opened"; readonly session: string; readonly stream: string };

const room = "stoa:mcp";
/** Characters of an exchange that wait for a client that has come back: more than are kept. A client that is slower comes back. */
const maxRelayed = 16 * 1024 * 1024;

/** Messages between the workers of an application, through its rooms. */
export class Bus {
  readonly #ending = new AbortController();

  constructor(private readonly rooms: Rooms) {}

  /** Passes the messages of all workers on, this one included. */
  listen(hear: (message: BusMessage) => void): void {
    void this.rooms.listen(room, hear, this.#ending.signal, "messages between the workers of MCP were lost");
  }

  tell(message: BusMessage): void {
    this.rooms.post(room, message);
  }

  /** Sends a message to a client that has come back. */
  relay(session: string, exchange: string, message: RelayedMessage): void {
    this.rooms.post(roomOf(session, exchange), message);
  }

  /** The messages of an exchange whose client has come back. Resolves when none is missed any more. */
  relayed(session: string, exchange: string, signal: AbortSignal): Promise<AsyncIterable<RelayedMessage>> {
    return this.rooms.hear<RelayedMessage>(roomOf(session, exchange), signal, maxRelayed);
  }

  end(): void {
    this.#ending.abort();
  }
}

function roomOf(session: string, exchange: string): string {
  return `stoa:${session}:${exchange}`;
}
