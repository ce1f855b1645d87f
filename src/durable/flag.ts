import type { FlagReader } from "../kit/time/within.js";

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
