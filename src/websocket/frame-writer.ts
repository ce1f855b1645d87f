import { latin1Of } from "../kit/encoding.js";

/** A message is joined to the head of its frame up to this size; beyond, the copy costs more than a second piece. */
const maxJoined = 16 * 1024;

type Done = (error?: Error | null) => void;

/** A stream, or a socket that is none. That one sends the writes of one turn together, and calls no function for them. */
interface FrameSink {
  write(data: string | Uint8Array, encoding: BufferEncoding, done?: Done): boolean;
  cork?(): void;
  uncork?(): void;
}

/**
 * Writes a frame of the server (RFC 6455 section 5.2), for a connection without extensions. `ws` would write head and
 * message separately, which makes a message of a few bytes a tenth more expensive. Returns what the last write returned.
 */
export function writeFrame(sink: FrameSink, opcode: number, data: string | Uint8Array, done?: Done): boolean {
  const size = typeof data === "string" ? Buffer.byteLength(data) : data.length;
  const head = frameHead(0x80 | opcode, size);
  if (size <= maxJoined) return sink.write(head + latin1Of(data, size), "latin1", done);
  sink.cork?.();
  sink.write(head, "latin1");
  const isTaken = sink.write(data, "utf8", done);
  sink.uncork?.();
  return isTaken;
}

/** A character for each byte. */
function frameHead(first: number, size: number): string {
  if (size < 126) return String.fromCharCode(first, size);
  if (size < 0x1_0000) return String.fromCharCode(first, 126, size >> 8, size & 0xff);
  const head = Buffer.from([first, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeBigUInt64BE(BigInt(size), 2);
  return head.toString("latin1");
}
