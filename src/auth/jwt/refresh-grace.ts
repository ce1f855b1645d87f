import type { RevocationStore } from "./revocations.js";

/** The parts that the time is counted in. A store says whether it has an id, not since when. */
const parts = 4;

/**
 * The time in which a refreshed token can be refreshed again. A client needs it if the new token did not arrive, if the store
 * failed after it had stored the old one, or if it sent two requests at the same moment (the "leeway" of Auth0 and Okta;
 * RFC 9700 section 4.14.2 has none). It lasts for at least the given number of seconds and at most a quarter longer.
 */
export class RefreshGrace {
  constructor(readonly seconds: number) {}

  /** Begins the time. To be called before the token is revoked: a failure between the two must not end the family. */
  begin(store: RevocationStore, id: string, now: number): boolean | Promise<boolean> {
    return store.add(this.#mark(id, this.#part(now)), now + 2 * this.seconds);
  }

  /** True if the token was refreshed a moment ago. */
  async covers(store: RevocationStore, id: string, now: number): Promise<boolean> {
    if (this.seconds === 0) return false;
    const last = this.#part(now);
    const marks = Array.from({ length: parts + 1 }, async (_, i) => store.has(this.#mark(id, last - i)));
    return (await Promise.all(marks)).includes(true);
  }

  #part(now: number): number {
    return Math.floor((now * parts) / this.seconds);
  }

  #mark(id: string, part: number): string {
    return `refreshed:${part}:${id}`;
  }
}
