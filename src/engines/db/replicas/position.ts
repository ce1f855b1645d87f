/** A place in the write-ahead log of PostgreSQL (pg_lsn), as a number; null for a text that is none: `16/B374D848`. */
export function readPosition(text: unknown): bigint | null {
  if (typeof text !== "string") return null;
  const found = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text);
  return found === null ? null : (BigInt(`0x${found[1]}`) << 32n) | BigInt(`0x${found[2]}`);
}

interface Sample {
  readonly position: bigint;
  /** The time on the monotonic clock at which the primary was first seen there. */
  readonly since: number;
}

/** The most places that are kept. A replica that is further behind is measured by the oldest, which is right. */
const mostKept = 1000;

/**
 * The places at which the primary was seen. They tell how far a replica is behind, without comparing clocks, without
 * rights to the server's views, and also while nothing is written.
 */
export class Positions {
  #samples: Sample[] = [];

  add(position: bigint, now: number): void {
    const last = this.#samples.at(-1);
    if (position === last?.position) return;
    // The log of a server never goes back: another server is the primary now.
    if (last !== undefined && position < last.position) this.#samples = [];
    if (this.#samples.length < mostKept) this.#samples.push({ position, since: now });
  }

  /** Milliseconds since the primary was first seen beyond the place that a replica has reached; 0 if it was not. */
  lagOf(replayed: bigint, now: number): number {
    const missing = this.#samples.find(({ position }) => position > replayed);
    return missing === undefined ? 0 : now - missing.since;
  }

  /** Drops the places that all replicas have reached, except the last one. */
  forget(reached: bigint): void {
    const last = this.#samples.at(-1);
    this.#samples = this.#samples.filter((sample) => sample.position > reached || sample === last);
  }
}
