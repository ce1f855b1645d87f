/**
 * The state in memory that one transaction or savepoint changed, with what undoes the changes. PostgreSQL takes back only
 * rows: an object that remembers a row as saved would otherwise believe in a save that was rolled back.
 */
export class UndoLevel {
  readonly #outer: UndoLevel | null;
  /** Null until something is changed: most transactions change no state. */
  #undos: Map<object, () => void> | null = null;
  #undone = false;

  constructor(outer: UndoLevel | null) {
    this.#outer = outer;
  }

  /** True if it was rolled back, or one around it. */
  get undone(): boolean {
    return this.#undone || (this.#outer?.undone ?? false);
  }

  /** Keeps the state that a subject has now, unless it is kept already. `take` returns the function that restores it. */
  keep(subject: object, take: (subject: object) => () => void): void {
    if (this.undone) return;
    this.#undos ??= new Map();
    if (!this.#undos.has(subject)) this.#undos.set(subject, take(subject));
  }

  /** Hands the kept states to the level around it. That one may have older states, which stay. */
  release(): void {
    for (const [subject, undo] of this.#undos ?? []) this.#outer?.keep(subject, () => undo);
    this.#undos = null;
  }

  /** Restores the kept states, and keeps no more. */
  undo(): void {
    this.#undone = true;
    for (const undo of this.#undos?.values() ?? []) undo();
    this.#undos = null;
  }
}
