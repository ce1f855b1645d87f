const places = 4096;

/**
 * The time of the last invalidation of each tag, in a table of fixed size: some tags, those of addresses, come from
 * clients. Tags that share a place share their time, so a valid response may count as outdated; never the other way
 * round.
 */
export class InvalidationTimes {
  readonly #times = new Float64Array(places);

  set(tag: string, time: number): void {
    this.#times[placeOf(tag)] = time;
  }

  setAll(time: number): void {
    this.#times.fill(time);
  }

  /** True if one of the tags may have been invalidated after a time. */
  isAfter(time: number, tags: readonly string[]): boolean {
    return tags.some((tag) => this.#times[placeOf(tag)]! > time);
  }
}

/** FNV-1a. */
function placeOf(tag: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < tag.length; i++) hash = Math.imul(hash ^ tag.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 16)) & (places - 1);
}
