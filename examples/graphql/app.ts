import { App } from "stoa";
import { loader } from "stoa/graphql";

interface AuthorRow {
  readonly id: number;
  readonly name: string;
}

interface BookRow {
  readonly id: number;
  readonly title: string;
  readonly year: number | null;
  readonly authorId: number;
}

/** Books and authors over GraphQL: a query, a mutation, a subscription, and a loader for the authors. */
export function graphqlApp(): App {
  const app = new App();
  app.enableGraphql();
  app.enableRooms();

  const authors = new Map<number, AuthorRow>([
    [1, { id: 1, name: "Ursula K. Le Guin" }],
    [2, { id: 2, name: "Stanisław Lem" }],
  ]);
  const books: BookRow[] = [
    { id: 1, title: "The Dispossessed", year: 1974, authorId: 1 },
    { id: 2, title: "Solaris", year: 1961, authorId: 2 },
    { id: 3, title: "The Left Hand of Darkness", year: 1969, authorId: 1 },
  ];
  // Over all workers and machines.
  const added = () => app.rooms<BookRow>("books added");

  // One call for all authors of an operation, as one query to a database would be.
  const authorOf = loader((ids: readonly number[]) => ids.map((id) => authors.get(id)));

  const { graphql } = app;
  const Author = graphql.type<AuthorRow>("Author").fields({ id: "ID!", name: "String!" });
  const Book = graphql
    .type<BookRow>("Book")
    .fields({ id: "ID!", title: "String!", year: "Int" })
    .field("author", Author, (book, _args, context) => context.load(authorOf, book.authorId));
  Author.field("books", Book.list, (author) => books.filter((book) => book.authorId === author.id));

  graphql.query("books", { type: Book.list, args: { before: "Int" } }, ({ before }) =>
    books.filter(({ year }) => !before || (year !== null && year < before)),
  );
  graphql.query("book", { type: Book, args: { id: "ID!" } }, ({ id }) =>
    Promise.resolve(books.find((book) => String(book.id) === id) ?? null),
  );

  const NewBook = graphql.input("NewBook", { title: "String!", year: "Int", authorId: "ID!" });
  graphql.mutation("addBook", { type: Book.required, args: { book: NewBook.required } }, async ({ book }) => {
    const row = { id: books.length + 1, title: book.title, year: book.year ?? null, authorId: Number(book.authorId) };
    books.push(row);
    await added().send(row);
    return row;
  });
  graphql.subscription("bookAdded", Book.required, () => added().subscribe());
  return app;
}
