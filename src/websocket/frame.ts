import type { Writable } from "node:stream";
import { latin1Of } from "../kit/encoding.js";

const TEXT = 0x81;
const BINARY = 0x82;

/** A message is joined to the head of its frame up to this size; beyond, the copy costs more than a second piece. */
const maxJoined = 16 * 1024;

/**
 * Writes a whole message of the server as one frame (RFC 6455 section 5.2), for a connection without extensions. `ws`
 * would write head and message separately, which makes a message of a few bytes a tenth more expensive.
 */
export function writeFrame(wire: Writable, data: string | Uint8Array, done: (error?: Error | null) => void): void {
  const size = typeof data === "string" ? Buffer.byteLength(data) : data.length;
  const head = frameHead(typeof data === "string" ? TEXT : BINARY, size);
  if (size <= maxJoined) {
    wire.write(head + latin1Of(data, size), "latin1", done);
    return;
  }
  wire.cork();
  wire.write(head, "latin1");
  if (typeof data === "string") wire.write(data, "utf8", done);
  else wire.write(data, done);
  wire.uncork();
}

/** A character for each byte. */
function frameHead(first: number, size: number): string {
  if (size < 126) return String.fromCharCode(first, size);
  if (size < 0x1_0000) return String.fromCharCode(first, 126, size >> 8, size & 0xff);
  const head = Buffer.from([first, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeBigUInt64BE(BigInt(size), 2);
  return head.toString("latin1");
}
