import { describe, expect, it } from "vitest";
import { graphqlApp } from "../../examples/graphql/app.js";
import { dataOf } from "../apis/graphql/support.js";

describe("the example with GraphQL", () => {
  it("The example with GraphQL lists books with their authors, and adds one", async () => {
    const app = graphqlApp();
    expect(await dataOf(app, "{ books(before: 1970) { title author { name books { id } } } }")).toEqual({
      books: [
        { title: "Solaris", author: { name: "Stanisław Lem", books: [{ id: "2" }] } },
        {
          title: "The Left Hand of Darkness",
          author: { name: "Ursula K. Le Guin", books: [{ id: "1" }, { id: "3" }] },
        },
      ],
    });
    const mutation = 'mutation { addBook(book: { title: "Fiasco", authorId: "2" }) { id year author { name } } }';
    expect(await dataOf(app, mutation)).toEqual({
      addBook: { id: "4", year: null, author: { name: "Stanisław Lem" } },
    });
    expect(await dataOf(app, '{ book(id: "4") { title } none: book(id: "9") { title } }')).toEqual({
      book: { title: "Fiasco" },
      none: null,
    });
  });
});
