import { ApiKeyAuth, App, HttpError } from "stoa";
import { z } from "zod";

interface Book {
  readonly id: string;
  readonly title: string;
  copies: number;
}

const Loan = z.object({ id: z.string(), left: z.number().int() });

/** A library that a language model can ask: tools, a route that is one of them, a resource and a prompt. */
export function assistantApp(keys: Readonly<Record<string, string>>): App {
  const books = new Map<string, Book>();
  for (const [id, title] of Object.entries({ emma: "Emma", ulysses: "Ulysses" }))
    books.set(id, { id, title, copies: 2 });
  const book = (id: string): Book => {
    const found = books.get(id);
    // The model reads this sentence and can try again.
    if (found === undefined) throw new HttpError(404, `There is no book '${id}'. The tool list_books knows the ids.`);
    return found;
  };

  const app = new App();
  app.enableMcp({ name: "library", version: "1.0.0", instructions: "Look a book up before you lend it." });
  app.use(new ApiKeyAuth(keys));

  app.get("/books", { description: "Lists all books with their ids", mcp: { name: "list_books" } }, () => [
    ...books.values(),
  ]);

  app.tool(
    "lend_book",
    {
      description: "Lends a copy of a book",
      input: z.object({ id: z.string().describe("The id, such as emma") }),
      output: Loan,
      guards: [({ context }) => context.api_key_name === "desk"],
    },
    async ({ mcp }, { input }) => {
      const lent = book(input.id);
      if (lent.copies === 0) throw new HttpError(409, `All copies of ${lent.title} are lent.`);
      lent.copies--;
      mcp.log("info", `lent ${lent.title}`);
      app.mcp.updated(`book://${lent.id}`);
      return { id: lent.id, left: lent.copies };
    },
  );

  app.resource("book://{id}", { description: "A book and its copies" }, ({ params }) => book(params.id));

  app.prompt(
    "recommend",
    { description: "Asks for a book", input: z.object({ mood: z.string() }) },
    (_, { input }) => `Recommend one of our books for somebody who is ${input.mood}.`,
  );
  return app;
}
