/**
 * Follows where the messages of a server begin and end, and throws on what cannot be one. The parser of the driver does
 * not check: it would wait for ever for the rest of a message whose length was corrupted.
 */
export class Framing {
  /** Bytes of the message under way that are still to come. */
  #rest = 0;
  /** The beginning of a header that was cut off by the end of a chunk. */
  #head: Buffer | null = null;

  check(chunk: Buffer): void {
    let at = 0;
    let bytes = chunk;
    if (this.#head !== null) {
      bytes = Buffer.concat([this.#head, chunk.subarray(0, headerLength)]);
      if (bytes.length < headerLength) {
        this.#head = bytes;
        return;
      }
      this.#rest = lengthOf(bytes, 0);
      at = headerLength - this.#head.length;
      this.#head = null;
      bytes = chunk;
    }
    at += this.#rest;
    while (at + headerLength <= bytes.length) at += headerLength + lengthOf(bytes, at);
    if (at < bytes.length) {
      this.#rest = 0;
      this.#head = Buffer.from(bytes.subarray(at));
    } else {
      this.#rest = at - bytes.length;
    }
  }
}

const headerLength = 5;
/** A row can be as long as PostgreSQL's limit for one; every other message is short. */
const longestRow = 0x3fffffff;
const longestOther = 0xffffff;

/** Types of messages that a server sends: PostgreSQL's documentation, "Message Formats". */
const known = new Set([..."RKSZTDCIENAnts123cdGHWvV"].map((letter) => letter.charCodeAt(0)));
const row = "D".charCodeAt(0);
const copyData = "d".charCodeAt(0);

/** The length of what follows the header. */
function lengthOf(bytes: Buffer, at: number): number {
  const type = bytes[at]!;
  const length = bytes.readUInt32BE(at + 1) - 4;
  const longest = type === row || type === copyData ? longestRow : longestOther;
  if (!known.has(type) || length < 0 || length > longest) {
    throw new Error("the server sent something that is not PostgreSQL's protocol");
  }
  return length;
}
