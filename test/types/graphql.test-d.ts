import { App, Depends } from "stoa";
import { loader, resolver } from "stoa/graphql";
import { field, Model } from "stoa/orm";
import { describe, expectTypeOf, it } from "vitest";

const { graphql } = new App();

class Book extends Model("books", { id: field.auto(), title: field.text(), year: field.int({ null: true }) }) {}

describe("the schema in code", () => {
  it("The schema in code knows the types of arguments by their notation", () => {
    const Genre = graphql.enum("Genre", ["FICTION", "SCIENCE"]);
    const Filter = graphql.input("Filter", { text: "String!", limit: "Int = 10", tags: "[String!]" });
    const args = {
      id: "ID!",
      n: "Int",
      list: "[Int!]!",
      size: "Int = 3",
      genre: Genre,
      filter: Filter.required,
    } as const;
    graphql.query("a", { type: "Int", args }, (given) => {
      expectTypeOf(given.id).toEqualTypeOf<string>();
      expectTypeOf(given.n).toEqualTypeOf<number | null | undefined>();
      expectTypeOf(given.list).toEqualTypeOf<readonly number[]>();
      expectTypeOf(given.size).toEqualTypeOf<number>();
      expectTypeOf(given.genre).toEqualTypeOf<"FICTION" | "SCIENCE" | null | undefined>();
      expectTypeOf(given.filter.text).toEqualTypeOf<string>();
      expectTypeOf(given.filter.tags).toEqualTypeOf<readonly string[] | null | undefined>();
      // @ts-expect-error there is no such argument
      given.missing;
      return given.n ?? null;
    });
  });

  it("The schema in code checks the results of resolvers", () => {
    const Author = graphql.type("Author", { id: "ID!", name: "String!" });
    graphql.query("one", Author.required, () => ({ id: 1, name: "Ann" }));
    graphql.query("later", Author.list, async () => [{ id: "1", name: "Ann" }]);
    graphql.query("none", Author, () => null);
    // @ts-expect-error a name is missing
    graphql.query("wrong", Author.required, () => ({ id: 1 }));
    // @ts-expect-error null is not allowed
    graphql.query("null", Author.required, () => null);
    // @ts-expect-error a text is no number
    graphql.query("text", "Int!", () => "1");
    graphql.query("streamed", "[Int!]!", async function* () {
      yield 1;
    });
    // @ts-expect-error the items are numbers
    graphql.query("mixed", "[Int!]!", async function* () {
      yield "1";
    });
    // @ts-expect-error the events are numbers
    graphql.subscription("events", "Int!", async function* () {
      yield "1";
    });
  });

  it("The schema in code knows the parents of fields, and the properties of a known source", () => {
    const Row = graphql.type<{ id: number; secret: string }>("Row").fields({ id: "ID!" });
    Row.field("shown", "String!", ({ secret }) => secret.length.toString());
    // @ts-expect-error the source has no such property
    Row.fields({ missing: "Int" });
    graphql.model(Book).field("label", "String!", ({ title, year }) => `${title} ${year?.toFixed() ?? ""}`);
    graphql.model(Book, { fields: ["id", "title"], orders: ["title"] });
    // @ts-expect-error the model has no such field
    graphql.model(Book, { fields: ["titel"] });
    graphql.model(Book, { mutations: { create: { fields: ["title"], values: () => ({ year: 2000 }) }, delete: true } });
    // @ts-expect-error the model has no such field
    graphql.model(Book, { mutations: { update: { fields: ["titel"] } } });
    // @ts-expect-error a year is a number
    graphql.model(Book, { mutations: { create: { values: () => ({ year: "2000" }) } } });
  });

  it("The schema in code knows the types of injected values and of the results of a loader", () => {
    const inject = { mail: Depends<{ send(): boolean }>("mail") };
    graphql.query("sent", { type: "Boolean!", inject }, (_args, _context, { mail }) => mail.send());
    resolver({ inject }, (_parent, _args, _context, { mail }) => mail.send());
    const squares = loader((keys: readonly number[]) => keys.map((key) => key * key));
    graphql.query("square", "Int", (_args, context) => {
      expectTypeOf(context.load(squares, 2)).toEqualTypeOf<Promise<number | null>>();
      // @ts-expect-error the keys are numbers
      void context.load(squares, "2");
      return context.load(squares, 2);
    });
  });
});
