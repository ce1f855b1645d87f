import { GraphQLInt, GraphQLObjectType, GraphQLScalarType, GraphQLSchema } from "graphql";
import { field, Model } from "stoa/orm";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import WebSocket from "ws";
import { dataOf, errorsOf, graphqlApp, quietApp } from "./support.js";

const typeDefs = "type Query { me: User  users: [User!] } type User { id: ID friends: [User!] }";

describe("options of GraphQL", () => {
  it("The playground is served in production if the option says so", async () => {
    const app = graphqlApp({ typeDefs, playground: true });
    await using server = await serve(app, { debug: false });
    const page = await fetch(`${server.url}/graphql`, { headers: { accept: "text/html" } });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  it("A document with more directives than the limit is refused", async () => {
    const app = graphqlApp({ typeDefs, limits: { directives: 1 } });
    expect(await errorsOf(app, "{ me @skip(if: true) { id } }")).toEqual([]);
    expect(await errorsOf(app, "{ me @skip(if: true) { id @skip(if: true) } }")).toMatchObject([
      { message: "The document has more than 1 directives." },
    ]);
  });

  it("A list without a number counts as listSize items", async () => {
    const refused = async (listSize: number): Promise<number> =>
      (await errorsOf(graphqlApp({ typeDefs, limits: { complexity: 50, listSize } }), "{ users { friends { id } } }"))
        .length;
    expect([await refused(2), await refused(10)]).toEqual([0, 1]);
  });

  it("A WebSocket of another page is accepted if origins lists the page", async () => {
    const statusFor = async (origins: string[] | undefined): Promise<number> => {
      const app = graphqlApp({ typeDefs, subscriptions: origins ? { origins } : {} });
      app.graphql.subscription("never", "Int", async function* () {});
      await using server = await serve(app, { debug: false });
      const url = `${server.url.replace("http", "ws")}/graphql`;
      const socket = new WebSocket(url, "graphql-transport-ws", { origin: "https://shop.example" });
      return await new Promise((resolve, reject) => {
        socket.on("error", reject);
        socket.on("unexpected-response", (_request, response) => resolve(response.statusCode!));
        socket.on("open", () => {
          socket.terminate();
          resolve(101);
        });
      });
    };
    expect(await statusFor(undefined)).toBe(403);
    expect(await statusFor(["https://shop.example"])).toBe(101);
  });

  it("Documents are parsed for each request if cacheSize is 0, and once otherwise", async () => {
    const readsOf = async (cacheSize: number): Promise<number> => {
      let reads = 0;
      const Word = new GraphQLScalarType({ name: "Word", parseValue: String, parseLiteral: () => String(reads++) });
      const args = { word: { type: Word } };
      const schema = new GraphQLSchema({
        query: new GraphQLObjectType({ name: "Query", fields: { one: { type: GraphQLInt, args, resolve: () => 1 } } }),
      });
      const app = graphqlApp({ schema, cacheSize });
      await dataOf(app, "{ one(word: x) }");
      const first = reads;
      for (let i = 0; i < 5; i++) await dataOf(app, "{ one(word: x) }");
      return reads - first;
    };
    expect(await readsOf(1_000_000)).toBe(0);
    expect(await readsOf(0)).toBeGreaterThanOrEqual(5);
  });

  it("A field in code has the cost and the size of its options", async () => {
    const app = graphqlApp({ limits: { complexity: 50 } });
    app.graphql.query("report", { type: "String", cost: 40 }, () => "report");
    app.graphql.query("randoms", { type: "[Int!]!", args: { many: "Int! = 10" }, size: "many" }, () => []);
    const limitOf = async (query: string): Promise<unknown> => (await errorsOf(app, query))[0]?.extensions?.["limit"];
    expect(await limitOf("{ report }")).toBe(undefined);
    expect(await limitOf("{ a: report b: report }")).toBe("complexity");
    expect(await limitOf("{ randoms(many: 49) }")).toBe(undefined);
    expect(await limitOf("{ randoms(many: 50) }")).toBe("complexity");
  });

  it("The description of a field is in the schema", async () => {
    const app = quietApp();
    app.enableGraphql({ introspection: true });
    app.graphql.query("hello", { type: "String", description: "Greets." }, () => "hello");
    expect(await dataOf(app, '{ __type(name: "Query") { fields { description } } }')).toEqual({
      __type: { fields: [{ description: "Greets." }] },
    });
  });
});

class Book extends Model("graphql_option_books", {
  id: field.auto(),
  title: field.text(),
  price: field.int(),
}) {}

describe("options of a model in GraphQL", () => {
  it("The type of a model has the name of its option, and its fields of Query have the guards", async () => {
    const app = quietApp();
    app.enableGraphql();
    app.graphql.model(Book, { name: "Volume", guards: [() => false] });
    expect(await dataOf(app, '{ __type(name: "Volume") { kind } }')).toEqual({ __type: { kind: "OBJECT" } });
    for (const query of ["{ volume(id: 1) { id } }", "{ volumes { nodes { id } } }"]) {
      expect(await errorsOf(app, query)).toMatchObject([{ extensions: { status: 403 } }]);
    }
  });

  it("Clients can filter and order by the columns of filters and orders, in pages of up to maxPage rows", async () => {
    const app = quietApp();
    app.enableGraphql({ introspection: true });
    app.graphql.model(Book, { filters: ["title"], orders: ["price"], maxPage: 5 });
    const named = async (type: string, members: string): Promise<unknown> =>
      dataOf(app, `{ __type(name: "${type}") { ${members} { name } } }`);
    expect(await named("BookFilter", "inputFields")).toEqual({
      __type: { inputFields: ["title", "and", "or", "not"].map((name) => ({ name })) },
    });
    expect(await named("BookOrder", "enumValues")).toEqual({
      __type: { enumValues: [{ name: "PRICE" }, { name: "PRICE_DESC" }] },
    });
    expect(await errorsOf(app, "{ books(first: 6) { nodes { id } } }")).toMatchObject([
      { message: "'first' must be from 1 to 5." },
    ]);
  });
});
