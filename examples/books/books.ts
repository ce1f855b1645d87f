/** The books of the tutorial, kept in memory. */
export interface Book {
  readonly id: number;
  title: string;
  author: string;
  genre: string;
  year: number | null;
}

export type BookFields = Partial<Omit<Book, "id">>;

export class Bookshelf {
  readonly #books = new Map<number, Book>();
  #lastId = 0;

  list(genre?: string): Book[] {
    const wanted = genre?.toLowerCase();
    const books = [...this.#books.values()];
    return wanted === undefined ? books : books.filter((book) => book.genre.toLowerCase() === wanted);
  }

  get(id: number): Book | undefined {
    return this.#books.get(id);
  }

  add(fields: BookFields & { title: string }): Book {
    const { title, author = "Unknown", genre = "general", year = null } = fields;
    const book: Book = { id: ++this.#lastId, title, author, genre, year };
    this.#books.set(book.id, book);
    return book;
  }

  update(id: number, fields: BookFields): Book | undefined {
    const book = this.#books.get(id);
    return book && Object.assign(book, fields);
  }

  delete(id: number): boolean {
    return this.#books.delete(id);
  }
}
