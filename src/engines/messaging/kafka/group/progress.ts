/** What a group keeps of a partition besides its offset, in the metadata of the offset. */
export interface Progress {
  /** The process that handles the partition; null if it has left it in order. */
  readonly owner: string | null;
  /** The message that is handled alone, with its deliveries so far. */
  readonly trying: Trying | null;
  /** True for a message behind the offset that is done. */
  isDone(offset: bigint): boolean;
}

export interface Trying {
  readonly offset: bigint;
  readonly deliveries: number;
}

/** Bytes of the list of done messages. As text they are a third more, and brokers take 4096 characters by default. */
const mostBytes = 2700;
const pattern = /^stoa1 ([\w-]+) (?:(\d{1,19}):(\d{1,9})|-) ([\w-]*)$/;

/** Writes the metadata. `done` are offsets after `position`, in their order; those that do not fit are handled again. */
export function writeProgress(
  position: bigint,
  owner: string | null,
  trying: Trying | null,
  done: Iterable<bigint>,
): string {
  const bits = Buffer.alloc(mostBytes);
  let length = 0;
  for (const offset of done) {
    const place = Number(offset - position);
    if (place >= mostBytes * 8) break;
    bits[place >> 3]! |= 1 << (place & 7);
    length = (place >> 3) + 1;
  }
  const tried = trying === null ? "-" : `${trying.offset}:${trying.deliveries}`;
  return `stoa1 ${owner ?? "-"} ${tried} ${bits.toString("base64url", 0, length)}`;
}

/** Metadata of so many characters at most: without the end of its list, whose messages are handled again; or none. */
export function shortened(metadata: string, longest: number): string {
  if (metadata.length <= longest) return metadata;
  return metadata.lastIndexOf(" ") < longest ? metadata.slice(0, longest) : "";
}

/** Reads the metadata of an offset. Null for that of another program. */
export function readProgress(position: bigint, metadata: string | null): Progress | null {
  const [, owner, offset, deliveries, text] = pattern.exec(metadata ?? "") ?? [];
  if (owner === undefined) return null;
  const bits = Buffer.from(text!, "base64url");
  return {
    owner: owner === "-" ? null : owner,
    trying: offset === undefined ? null : { offset: BigInt(offset), deliveries: Number(deliveries) },
    isDone(each) {
      const place = Number(each - position);
      // Bit operations have 32 bits: a partition that is read for long gets to places beyond.
      return place >= 0 && place < bits.length * 8 && ((bits[place >> 3]! >> (place & 7)) & 1) === 1;
    },
  };
}
