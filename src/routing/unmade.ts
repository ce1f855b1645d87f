/**
 * Decorated methods whose class has not been instantiated yet. Their routes exist once there is an instance, so that one
 * which is left at the start is probably a mistake.
 */
export class UnmadeRoutes {
  readonly #waiting = new Set<{ readonly label: string }>();
  readonly #below: UnmadeRoutes[] = [];

  /** Notes a decorated method. Returns the function to call when its class is instantiated. */
  add(label: string): () => void {
    const entry = { label };
    this.#waiting.add(entry);
    return () => void this.#waiting.delete(entry);
  }

  /** Counts those of a blueprint too. */
  include(other: UnmadeRoutes): void {
    this.#below.push(other);
  }

  labels(): string[] {
    return [...[...this.#waiting].map(({ label }) => label), ...this.#below.flatMap((other) => other.labels())];
  }
}
