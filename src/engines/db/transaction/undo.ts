/** The number of subjects from which the list is cleared of collected ones. */
const leastTidied = 1000;

/**
 * The state in memory that one transaction or savepoint changed, with what undoes the changes. PostgreSQL takes back only
 * rows: an object would otherwise remember a row as saved after its save was rolled back.
 */
export class UndoLevel {
  /** Null until something is changed: most transactions change no state. */
  #undos: WeakMap<object, () => void> | null = null;
  /** The subjects, in their order. Those that no other code holds need no undo: a long transaction does not keep them in memory. */
  #subjects: WeakRef<object>[] = [];
  #tidyAt = leastTidied;
  #undone = false;

  constructor(private readonly outer: UndoLevel | null) {}

  /** True if it was rolled back, or one around it. */
  get undone(): boolean {
    return this.#undone || (this.outer?.undone ?? false);
  }

  /** Keeps the state that a subject has now, unless it is kept already. `take` returns the function that restores it. */
  keep(subject: object, take: (subject: object) => () => void): void {
    if (this.undone) return;
    this.#undos ??= new WeakMap();
    if (this.#undos.has(subject)) return;
    this.#undos.set(subject, take(subject));
    this.#subjects.push(new WeakRef(subject));
    if (this.#subjects.length < this.#tidyAt) return;
    this.#subjects = this.#subjects.filter((each) => each.deref() !== undefined);
    this.#tidyAt = Math.max(leastTidied, this.#subjects.length * 2);
  }

  /** Hands the kept states to the level around it. That one may have older states, which stay. */
  release(): void {
    for (const [subject, undo] of this.#kept()) this.outer?.keep(subject, () => undo);
    this.#forget();
  }

  /** Restores the kept states, and keeps no more. */
  undo(): void {
    this.#undone = true;
    for (const [, undo] of this.#kept()) undo();
    this.#forget();
  }

  *#kept(): Iterable<readonly [object, () => void]> {
    for (const each of this.#subjects) {
      const subject = each.deref();
      if (subject !== undefined) yield [subject, this.#undos!.get(subject)!];
    }
  }

  #forget(): void {
    this.#undos = null;
    this.#subjects = [];
  }
}
