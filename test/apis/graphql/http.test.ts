import { GraphQLObjectType, GraphQLSchema, GraphQLString } from "graphql";
import { App, GraphQLConfig } from "stoa";
import { serve, testClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { GraphqlHandle } from "../../../src/apis/graphql/graphql-handle.js";
import { hostOf } from "../../../src/app/app.js";
import { dataOf, errorsOf, get, graphqlApp, post, quietApp } from "./support.js";

const typeDefs = `
  type Query { hello(name: String = "world"): String! }
  type Mutation { save: Int! }
`;
const resolvers = {
  Query: { hello: (_: unknown, { name }: { name: string }) => `hello ${name}` },
  Mutation: { save: () => 1 },
};
const query = "{ hello }";

describe("the GraphQL endpoint", () => {
  it("The GraphQL endpoint executes an operation of a POST request with its variables", async () => {
    const app = graphqlApp({ typeDefs, resolvers });
    const sent = { query: "query ($n: String) { hello(name: $n) }", variables: { n: "Ann" } };
    expect((await post(app, sent)).body).toEqual({ data: { hello: "hello Ann" } });
  });

  it("The GraphQL endpoint executes a query of a GET request with its variables", async () => {
    const app = graphqlApp({ typeDefs, resolvers });
    const sent = { query: "query ($n: String) { hello(name: $n) }", variables: '{"n":"Ann"}' };
    const { body, headers } = await get(app, sent);
    expect(body).toEqual({ data: { hello: "hello Ann" } });
    expect(headers.get("vary")).toBe("Accept");
  });

  it("The GraphQL endpoint accepts any GraphQLSchema", async () => {
    const fields = { hello: { type: GraphQLString, resolve: () => "made by hand" } };
    const app = graphqlApp({ schema: new GraphQLSchema({ query: new GraphQLObjectType({ name: "Query", fields }) }) });
    expect(await dataOf(app, query)).toEqual({ hello: "made by hand" });
  });

  it("The GraphQL endpoint chooses one of several operations by its name", async () => {
    const app = graphqlApp({ typeDefs, resolvers });
    const text = 'query A { hello } query B { hello(name: "b") }';
    expect((await post(app, { query: text, operationName: "B" })).body.data).toEqual({ hello: "hello b" });
    expect((await post(app, { query: text })).body.errors?.[0]?.message).toContain("Must provide operation name");
    expect((await post(app, { query: text, operationName: "C" })).body.errors?.[0]?.message).toBe(
      'Unknown operation named "C".',
    );
  });

  it("enable_graphql() accepts another path, and enableGraphql() accepts its options by position too", async () => {
    const app = quietApp();
    app.enable_graphql({ path: "/api", typeDefs, resolvers });
    expect((await app.request("/api?query={hello}")).status).toBe(200);
    expect(new App().enableGraphql("/x", false, true)).toBeInstanceOf(App);
  });

  it("A mutation in a GET request is refused with 405", async () => {
    const { status, headers } = await get(graphqlApp({ typeDefs, resolvers }), { query: "mutation { save }" });
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"])(
    "A body of type %s is refused with 415, so that a page of another site cannot send one",
    async (type) => {
      const { status } = await post(graphqlApp({ typeDefs, resolvers }), { query }, { "content-type": type });
      expect(status).toBe(415);
    },
  );

  it("A GET request of an element in another site's page is refused with 403", async () => {
    const app = graphqlApp({ typeDefs, resolvers });
    const element = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
    expect((await get(app, { query }, element)).status).toBe(403);
    expect((await get(app, { query }, { ...element, "sec-fetch-site": "same-origin" })).status).toBe(200);
  });

  it("A client that accepts none of the endpoint's types gets 406", async () => {
    const { status } = await post(graphqlApp({ typeDefs, resolvers }), { query }, { accept: "image/png" });
    expect(status).toBe(406);
  });

  it("The type of a GraphQL response follows the qualities of the accepted types", async () => {
    const app = graphqlApp({ typeDefs, resolvers });
    const accept = "application/json;q=0.5, application/graphql-response+json";
    expect((await post(app, { query }, { accept })).type).toBe("application/graphql-response+json; charset=utf-8");
    expect((await post(app, { query }, { accept: "application/json, */*" })).type).toBe(
      "application/json; charset=utf-8",
    );
  });

  it("The error for a body that is not JSON shows nothing of the body", async () => {
    const { status, body } = await post(graphqlApp({ typeDefs, resolvers }), '{"secret');
    expect(status).toBe(400);
    expect(JSON.stringify(body)).not.toContain("secret");
  });

  it("A mistake in the schema fails the start with a clear error", async () => {
    const start = (options: object) => graphqlApp(options).start();
    await expect(start({})).rejects.toThrow(
      "enableGraphql() needs a schema, typeDefs, or definitions with app.graphql",
    );
    await expect(start({ typeDefs: "type Query {" })).rejects.toThrow("typeDefs cannot be parsed");
    await expect(start({ typeDefs: "type Query { a: Missing }" })).rejects.toThrow("Unknown type");
    await expect(start({ typeDefs, resolvers: { Query: { helo: () => 1 } } })).rejects.toThrow(
      "unknown field 'Query.helo'; did you mean 'hello'?",
    );
    await expect(start({ typeDefs, resolvers: { Querry: { a: () => 1 } } })).rejects.toThrow("unknown type 'Querry'");
  });

  it("The start fails with the command to install graphql if that package is missing", async () => {
    const host = hostOf(graphqlApp({}));
    const handle = new GraphqlHandle(() => {});
    handle.config = new GraphQLConfig();
    const missing = Object.assign(new Error("Cannot find package 'graphql'"), { code: "ERR_MODULE_NOT_FOUND" });
    await expect(handle.prepare(host, () => Promise.reject(missing))).rejects.toThrow(/npm install graphql@16$/);
  });

  it("enableGraphql() refuses options that are unknown or do not go together", () => {
    const schema = new GraphQLSchema({});
    expect(() => graphqlApp({ schema, typeDefs })).toThrow("goes without 'typeDefs'");
    expect(() => graphqlApp({ resolvers })).toThrow("needs 'typeDefs'");
    expect(() => graphqlApp({ limits: { depht: 3 } as object })).toThrow("did you mean 'depth'?");
    expect(() => graphqlApp({ schema: {} as never })).toThrow("must be a GraphQLSchema");
    expect(() => graphqlApp({ persisted: { only: true } })).toThrow("needs 'operations'");
  });

  it("A batch is executed only where it is enabled, and up to its limit", async () => {
    const item = { query };
    const refused = await post(graphqlApp({ typeDefs, resolvers }), [item, item]);
    expect([refused.status, refused.body.errors?.[0]?.message]).toEqual([400, "A list of operations is not accepted."]);
    const app = graphqlApp({ typeDefs, resolvers, limits: { batch: 2 } });
    const { body } = await post(app, [item, { query: "{ nothing }" }]);
    expect(body).toMatchObject([{ data: { hello: "hello world" } }, { errors: [{}] }]);
    expect((await post(app, [item, item, item])).status).toBe(400);
    expect((await post(app, [])).status).toBe(400);
  });
});

describe("introspection", () => {
  const introspection = "{ __schema { queryType { name } } }";

  it("Introspection is on in development and off in production, unless the option is given", async () => {
    const ask = async (debug: boolean, given?: boolean): Promise<number> => {
      await using client = testClient(
        graphqlApp({ typeDefs, resolvers, ...(given !== undefined && { introspection: given }) }),
        { debug },
      );
      const headers = { "content-type": "application/json", accept: "application/graphql-response+json" };
      const { status } = await client.post("/graphql", { headers, body: JSON.stringify({ query: introspection }) });
      return status;
    };
    expect(await Promise.all([ask(true), ask(false), ask(true, false), ask(false, true)])).toEqual([
      200, 400, 400, 200,
    ]);
  });

  it("Errors show no names of the schema where introspection is off, and __typename still works", async () => {
    const app = graphqlApp({
      typeDefs: "type Query { hello(genre: Genre): String } enum Genre { FICTION }",
      introspection: false,
    });
    for (const text of ["{ __schema { types { name } } }", '{ __type(name: "Query") { name } }']) {
      expect((await errorsOf(app, text))[0]?.message).toContain("introspection has been disabled");
    }
    const variables = { genre: "FICTOIN" };
    const texts = [
      "{ helo }",
      "{ hello(gerne: FICTION) }",
      "{ hello(genre: FICTOIN) }",
      "query ($genre: Gerne) { hello }",
    ];
    for (const text of [...texts, "query ($genre: Genre) { hello(genre: $genre) }"]) {
      const errors = await errorsOf(app, text, variables);
      expect(errors.length, text).toBeGreaterThan(0);
      expect(JSON.stringify(errors), text).not.toContain("Did you mean");
    }
    expect(await dataOf(app, "{ __typename }")).toEqual({ __typename: "Query" });
  });

  it("Errors suggest names of the schema where introspection is on", async () => {
    const app = graphqlApp({ typeDefs, introspection: true });
    expect((await errorsOf(app, "{ helo }"))[0]?.message).toContain('Did you mean "hello"?');
  });
});

describe("errors of resolvers", () => {
  const fails = {
    typeDefs: "type Query { a: String b: Int! c: Genre } enum Genre { FICTION }",
    resolvers: {
      Query: {
        a: () => {
          throw new Error("password=secret");
        },
        b: () => "secret",
        c: () => "secret",
      },
    },
  };

  it("Errors of resolvers are hidden from clients in production and written to the log", async () => {
    const app = graphqlApp(fails);
    await using server = await serve(app, { debug: false });
    const response = await fetch(`${server.url}/graphql?query={a,c}`);
    const text = await response.text();
    expect(text).not.toContain("secret");
    expect(JSON.parse(text).errors).toMatchObject([
      { message: "Internal Server Error", path: ["a"], extensions: { code: "INTERNAL_SERVER_ERROR", status: 500 } },
      { message: "Internal Server Error", path: ["c"] },
    ]);
    expect(app.logged.lines.map(({ fields }) => String(fields?.["error"]))).toEqual([
      "Error: password=secret",
      expect.stringContaining('Enum "Genre" cannot represent value: "secret"'),
    ]);
  });

  it("Errors of resolvers are shown to clients if maskErrors is false", async () => {
    const app = graphqlApp({ ...fails, maskErrors: false });
    expect((await errorsOf(app, "{ a }"))[0]?.message).toBe("password=secret");
  });
});
