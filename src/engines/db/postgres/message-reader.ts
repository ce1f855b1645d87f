/** Types of messages that the driver does not get. */
export const messageType = { dataRow: 68, commandComplete: 67, bindComplete: 50 } as const;

/** Takes a message whose body is in `bytes` from `start` to `end`; false if no statement is waiting for a response. */
export type MessageTaker = (type: number, bytes: Buffer, start: number, end: number) => boolean;

/**
 * Cuts the bytes of a server into messages, and throws on bytes that cannot be one: the parser of the driver does not
 * check, and would wait without end for the rest of a message with a corrupt length. Rows, by far the most messages, and the
 * messages of every response go to `take` as bytes; the driver would make an object and an event of each, and a string of
 * each field. The driver gets all other messages.
 */
export class MessageReader {
  take: MessageTaker = () => false;
  passOn: (messages: Buffer) => void = () => {};
  /** All bytes so far. */
  bytesRead = 0;
  /** The beginning of a message that was cut off by the end of a chunk, in the pieces in which it came. */
  #pieces: Buffer[] = [];
  #received = 0;
  /** The length of that message with its header; 0 until it is known. */
  #expected = 0;

  read(chunk: Buffer): void {
    this.bytesRead += chunk.length;
    const at = this.#received === 0 ? 0 : this.#complete(chunk);
    if (at < chunk.length) this.#readWhole(chunk, at);
  }

  /** Reads the messages that are all there, and keeps the rest. */
  #readWhole(bytes: Buffer, from: number): void {
    let at = from;
    /** The start of the messages that are still to be passed on. */
    let passFrom = from;
    while (at + headerLength <= bytes.length) {
      const end = at + headerLength + lengthOf(bytes, at);
      if (end > bytes.length) break;
      const type = bytes[at]!;
      if (known[type] === taken) {
        // Earlier messages decide which statement this one belongs to.
        if (passFrom < at) this.passOn(bytes.subarray(passFrom, at));
        passFrom = this.take(type, bytes, at + headerLength, end) ? end : at;
      }
      at = end;
    }
    if (passFrom < at) this.passOn(bytes.subarray(passFrom, at));
    if (at < bytes.length) this.#keep(bytes.subarray(at));
  }

  /** Completes a message that was cut off, and reads it. Returns the start of the next one in the chunk. */
  #complete(chunk: Buffer): number {
    let at = 0;
    if (this.#expected === 0) {
      at = Math.min(headerLength - this.#received, chunk.length);
      this.#keep(chunk.subarray(0, at));
      if (this.#expected === 0) return at;
    }
    const end = Math.min(at + this.#expected - this.#received, chunk.length);
    this.#keep(chunk.subarray(at, end));
    if (this.#received === this.#expected) {
      const message = Buffer.concat(this.#pieces, this.#received);
      this.#pieces = [];
      this.#received = this.#expected = 0;
      this.#readWhole(message, 0);
    }
    return end;
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#received += piece.length;
    if (this.#expected > 0 || this.#received < headerLength) return;
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)];
    this.#expected = headerLength + lengthOf(this.#pieces[0]!, 0);
  }
}

const headerLength = 5;
/** A row can be as long as PostgreSQL's limit for one; every other message is short. */
const longestRow = 0x3fffffff;
const longestOther = 0xffffff;

/** Types of messages that a server sends: PostgreSQL's documentation, "Message Formats". */
const known = new Uint8Array(256);
const taken = 2;
for (const letter of "RKSZTDCIENAnts123cdGHWvV") known[letter.charCodeAt(0)] = 1;
for (const type of Object.values(messageType)) known[type] = taken;
const copyData = "d".charCodeAt(0);

/** The length of the body. */
function lengthOf(bytes: Buffer, at: number): number {
  const type = bytes[at]!;
  const length =
    ((bytes[at + 1]! << 24) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 8) | bytes[at + 4]!) - headerLength + 1;
  const longest = type === messageType.dataRow || type === copyData ? longestRow : longestOther;
  if (known[type] === 0 || length < 0 || length > longest) {
    throw new Error("the server sent something that is not PostgreSQL's protocol");
  }
  return length;
}
