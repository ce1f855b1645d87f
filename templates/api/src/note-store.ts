import { z } from "zod";

export const NewNote = z.object({ text: z.string().trim().min(1).max(1000) });
export const Note = NewNote.extend({ id: z.int(), createdAt: z.iso.datetime() });

export type Note = z.infer<typeof Note>;

/** Notes in memory. Put a database in its place: `npm create stoa -- --template saas` shows one. */
export class NoteStore {
  readonly #notes = new Map<number, Note>();
  #lastId = 0;

  constructor(readonly limit: number) {}

  get isFull(): boolean {
    return this.#notes.size >= this.limit;
  }

  list(limit: number): Note[] {
    return [...this.#notes.values()].slice(0, limit);
  }

  find(id: number): Note | undefined {
    return this.#notes.get(id);
  }

  add(text: string): Note {
    const note = { id: ++this.#lastId, text, createdAt: new Date().toISOString() };
    this.#notes.set(note.id, note);
    return note;
  }

  /** False if there is no such note. */
  remove(id: number): boolean {
    return this.#notes.delete(id);
  }
}
