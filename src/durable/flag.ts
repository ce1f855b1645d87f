/** The part of an `AbortSignal` that work on a claim needs. An `AbortSignal` is one. */
export interface FlagReader {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * A signal that only the framework sees. An `AbortController` costs more than the rest of a small job; user code gets one
 * when it reads `signal`.
 */
export class Flag implements FlagReader {
  aborted = false;
  #listeners: Set<() => void> | null = null;

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    const listeners = this.#listeners;
    this.#listeners = null;
    for (const listener of listeners ?? []) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (this.aborted) return;
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners?.delete(listener);
  }
}
