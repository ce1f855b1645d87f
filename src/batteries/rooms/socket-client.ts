import type { WebSocket } from "../../websocket/socket.js";
import { type BufferLimits, ClientBuffer, type Delivery, messageOverhead, type RoomClient } from "./client.js";

/** RFC 6455 has no code for it; 1013 is "try again later" in the registry of close codes. */
const tooSlow = 1013;

type Socket = Pick<WebSocket, "isOpen" | "bufferedAmount" | "sendText" | "close">;

/** The messages of all rooms on their way to one WebSocket. */
export class SocketOutput {
  readonly #socket: Socket;
  readonly #buffer: ClientBuffer<string>;
  #isPumping = false;

  constructor(socket: Socket, limits: BufferLimits) {
    this.#socket = socket;
    this.#buffer = new ClientBuffer(limits);
  }

  send(text: string): void {
    const socket = this.#socket;
    if (!socket.isOpen) return;
    if (!this.#isPumping && socket.bufferedAmount === 0) {
      void socket.sendText(text);
      return;
    }
    if (!this.#buffer.push(text, text.length + messageOverhead)) {
      this.#buffer.clear();
      void socket.close(tooSlow, "too slow");
    } else if (!this.#isPumping) void this.#pump();
  }

  drained(): Promise<void> | null {
    return this.#buffer.drained();
  }

  /** One message at a time, when the system has taken the one before. */
  async #pump(): Promise<void> {
    this.#isPumping = true;
    try {
      while (!this.#buffer.isEmpty) await this.#socket.sendText(this.#buffer.shift()!);
    } catch {
      // The connection has ended: it leaves its rooms.
      this.#buffer.clear();
    }
    this.#isPumping = false;
  }
}

/** A WebSocket in a room. */
export class SocketClient implements RoomClient {
  constructor(
    private readonly output: SocketOutput,
    private readonly room: string,
    private readonly hasEnvelope: boolean,
  ) {}

  deliver(delivery: Delivery): void {
    this.output.send(this.hasEnvelope ? delivery.envelope : delivery.text);
  }

  missed(): void {
    if (this.hasEnvelope) this.output.send(JSON.stringify({ room: this.room, gap: true }));
  }

  tell(event: string, data: string): void {
    this.output.send(`{"room":${JSON.stringify(this.room)},"${event}":${data}}`);
  }

  drained(): Promise<void> | null {
    return this.output.drained();
  }
}
