import type { ServerHttp2Stream } from "node:http2";
import type { DirectReceiver, DirectSocket, UpgradeCallback } from "../../http/source.js";

/** Bytes before the payload of a frame. Other protocols send small messages, each in its own frame. */
const frameHead = 9;

/** The connection, as far as such a socket uses it. */
export interface StreamSocketOwner {
  /** Bytes have arrived. All others count as a flood of frames. */
  received(bytes: number): void;
}

/** A stream of HTTP/2 that has become the connection of a WebSocket (RFC 8441). */
export class StreamSocket implements DirectSocket {
  bytesWritten = 0;
  readonly #stream: ServerHttp2Stream;
  readonly #owner: StreamSocketOwner;
  #receiver: DirectReceiver | null = null;

  constructor(stream: ServerHttp2Stream, owner: StreamSocketOwner) {
    this.#stream = stream;
    this.#owner = owner;
  }

  get writableLength(): number {
    return this.#stream.writableLength;
  }

  /** `waits` is called when the bytes that wait are many. */
  handTo(accept: NonNullable<UpgradeCallback["direct"]>, waits: () => void): void {
    const stream = this.#stream;
    const receiver = accept(this, waits);
    this.#receiver = receiver;
    stream.on("data", (piece: Buffer) => {
      this.#owner.received(piece.length + frameHead);
      try {
        receiver.received(piece, 0, piece.length);
      } catch (error) {
        receiver.broken(error);
      }
    });
    stream.on("end", () => receiver.ended());
    stream.on("close", () => receiver.gone());
  }

  write(data: string | Uint8Array, encoding: BufferEncoding = "utf8"): boolean {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return true;
    this.bytesWritten += typeof data === "string" ? Buffer.byteLength(data, encoding) : data.length;
    stream.write(data, encoding, this.#taken);
    return false;
  }

  cork(): void {
    this.#stream.cork();
  }

  uncork(): void {
    this.#stream.uncork();
  }

  end(): void {
    this.#stream.end();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  readonly #taken = (): void => this.#receiver?.drained();
}
