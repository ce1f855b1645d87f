import { buildSchema } from "graphql";
import type { App, GraphqlOptions } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { dataOf, errorsOf, graphqlApp, post } from "./support.js";

interface Product {
  id: string;
  sku: string;
  weight: number;
}

const product = (id: string): Product => ({ id, sku: `sku-${id}`, weight: 10 * Number(id) });

function productsApp(more: GraphqlOptions = {}): App & { readonly asked: string[] } {
  const asked: string[] = [];
  const app = graphqlApp({ federation: true, ...more });
  app.graphql
    .type<Product>("Product")
    .fields({ id: "ID!", sku: "String!" })
    .field("weight", { type: "Int!", directives: ['@tag(name: "internal")'] }, ({ weight }) => weight)
    .key("id", ({ id }) => {
      asked.push(`id ${id}`);
      return id === "0" ? null : product(id);
    })
    .key("sku", async ({ sku }, { request }) => {
      asked.push(`sku ${sku} ${request.method}`);
      return product(sku.slice(4));
    });
  app.graphql.type("Size", { width: "Int" }).directive("@shareable");
  app.graphql.query("size", "Size", () => ({ width: 1 }));
  return Object.assign(app, { asked });
}

const entities = (fields: string): string =>
  `query ($r: [_Any!]!) { _entities(representations: $r) { __typename ${fields} } }`;

const reviews: GraphqlOptions = {
  federation: true,
  typeDefs: `
    extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", { name: "@requires", as: "@needs" }])
    extend type Product @key(fields: "sku maker { id }") @key(fields: "id", resolvable: false) {
      id: ID! sku: String! maker: Maker! weight: Int @federation__external shipping: Int @needs(fields: "weight")
      sizes: [Float] @federation__external
    }
    type Maker { id: ID! }
    interface Media @key(fields: "id") { id: ID! }
    type Film implements Media @key(fields: "id") { id: ID! title: String }
    type Alone @key(fields: "id", resolvable: false) { id: ID! }
  `,
  resolvers: {
    Product: { shipping: ({ weight }) => weight * 2 },
    Media: { __resolveType: () => "Film", __resolveReference: ({ id }) => ({ id, title: `Film ${id}` }) },
    Film: { __resolveReference: () => null },
  },
};

describe("a subgraph of a federation", () => {
  it("The SDL of a schema in code has its keys and directives, with a link to those that are used", async () => {
    expect(await dataOf(productsApp(), "{ _service { sdl } }")).toEqual({
      _service: {
        sdl: `extend schema @link(url: "https://specs.apollo.dev/federation/v2.7", import: ["@key", "@shareable", "@tag"])

type Query {
  size: Size
}

type Product @key(fields: "id") @key(fields: "sku") {
  id: ID!
  sku: String!
  weight: Int! @tag(name: "internal")
}

type Size @shareable {
  width: Int
}`,
      },
    });
  });

  it("Entities are found by the key that their representations have, each in its place", async () => {
    const app = productsApp();
    const server = await serve(app);
    onTestFinished(() => server.close());
    const response = await fetch(`${server.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        query: entities("... on Product { id weight }"),
        variables: {
          r: [
            { __typename: "Product", sku: "sku-2" },
            { __typename: "Product", id: 0 },
            { __typename: "Product", id: 3, sku: "other", unknown: {} },
          ],
        },
      }),
    });
    expect(await response.json()).toEqual({
      data: {
        _entities: [
          { __typename: "Product", id: "2", weight: 20 },
          null,
          { __typename: "Product", id: "3", weight: 30 },
        ],
      },
    });
    expect(app.asked).toEqual(["sku sku-2 POST", "id 0", "id 3"]);
  });

  it("typeDefs link with names of their own, extend types of others, and need no Query", async () => {
    const app = graphqlApp(reviews);
    const r = [
      { __typename: "Product", sku: "a", maker: { id: 7 }, weight: 4, sizes: [1, 2.5, null] },
      { __typename: "Media", id: "5" },
    ];
    const fields = "... on Product { sku maker { id } shipping } ... on Film { id title }";
    expect(await dataOf(app, entities(fields), { r })).toEqual({
      _entities: [
        { __typename: "Product", sku: "a", maker: { id: "7" }, shipping: 8 },
        { __typename: "Film", id: "5", title: "Film 5" },
      ],
    });
    const { _service } = (await dataOf(app, "{ _service { sdl } }")) as { _service: { sdl: string } };
    expect(_service.sdl).toMatch(/^extend schema @link\(url: "[^"]+v2.3"[^\n]+\n\nextend type Product @key/);
    expect(_service.sdl).not.toMatch(/directive |scalar |_Entity|_Any/);
    const { __type } = (await dataOf(app, '{ __type(name: "_Entity") { possibleTypes { name } } }')) as {
      __type: unknown;
    };
    expect(__type).toEqual({ possibleTypes: [{ name: "Product" }, { name: "Film" }] });
  });

  it.each<[string, unknown, string]>([
    ["of an unknown type", { __typename: "Missing", id: "1" }, 'no entity of the type "Missing"'],
    ["of a name of Object.prototype", { __typename: "constructor", id: "1" }, 'no entity of the type "constructor"'],
    ["of __proto__", { __typename: "__proto__", id: "1" }, 'no entity of the type "__proto__"'],
    ["of a type that is no entity", { __typename: "Maker", id: "1" }, 'no entity of the type "Maker"'],
    ["of a key that is not resolvable", { __typename: "Product", id: "1" }, "needs 'sku maker { id }'"],
    ["without a part of its key", { __typename: "Product", sku: "a", maker: {} }, "needs 'sku maker { id }'"],
    ["with null in its key", { __typename: "Product", sku: "a", maker: { id: null } }, "needs 'sku maker { id }'"],
    [
      "with an object for a text",
      { __typename: "Product", sku: { $gt: "" } },
      "Product.sku of a representation: String",
    ],
    [
      "with a text for an object",
      { __typename: "Product", sku: "a", maker: "b" },
      "Product.maker of a representation must be an object",
    ],
    [
      "with a wrong id inside",
      { __typename: "Product", sku: "a", maker: { id: [] } },
      "Product.maker.id of a representation: ID",
    ],
    ["with an object for a list", { __typename: "Product", sku: "a", sizes: { length: 9 } }, "must be a list"],
  ])("A representation %s is an error of its place alone", async (_what, wrong, message) => {
    const r = [{ __typename: "Product", sku: "a", maker: { id: "1" } }, wrong];
    const { status, body } = await post(graphqlApp({ ...reviews, maskErrors: true }), {
      query: entities("... on Product { sku }"),
      variables: { r },
    });
    expect([status, body.data]).toEqual([200, { _entities: [{ __typename: "Product", sku: "a" }, null] }]);
    expect(body.errors).toMatchObject([
      { message: expect.stringContaining(message), path: ["_entities", 1], extensions: { code: "BAD_USER_INPUT" } },
    ]);
  });

  it.each([[null], ["Product"], [{}], [[]], [{ __typename: 1 }], [{ id: "1" }]])(
    "The representation %j is refused",
    async (wrong) => {
      const { status, body } = await post(productsApp(), { query: entities(""), variables: { r: [wrong] } });
      expect([status, body.errors?.length]).toEqual([400, 1]);
      expect(body.errors![0]!.message).toMatch(wrong === null ? /not to be null/ : /must be an object with __typename/);
    },
  );

  it("A representation in the text of an operation is read in the same way", async () => {
    const query = (id: string): string =>
      `{ _entities(representations: [{ __typename: "Product", id: ${id} }]) { ... on Product { sku } } }`;
    expect(await dataOf(productsApp(), query('"4"'))).toEqual({ _entities: [{ sku: "sku-4" }] });
    expect((await errorsOf(productsApp(), query("{ a: 1 }")))[0]!.message).toContain("Product.id of a representation");
    const [refused] = await errorsOf(productsApp(), "{ _entities(representations: [1]) { __typename } }");
    expect(refused!.message).toContain("must be an object with __typename");
  });

  it("The limits of operations hold for entities: their number counts, and what is asked of each", async () => {
    const app = productsApp({ limits: { depth: 3, aliases: 2 } });
    const send = (count: number, fields: string) =>
      post(app, {
        query: entities(fields),
        variables: { r: Array.from({ length: count }, () => ({ __typename: "Product", id: "1" })) },
      });
    const four = "... on Product { id sku weight }";
    expect((await send(900, four)).body.errors).toBeUndefined();
    for (const count of [1000, 30_000]) {
      expect((await send(count, four)).body.errors).toMatchObject([{ extensions: { limit: "complexity" } }]);
    }
    expect((await send(1, "a: __typename b: __typename c: __typename")).body.errors).toMatchObject([
      { extensions: { limit: "aliases" } },
    ]);
    expect(app.asked.length).toBe(900);
  });

  it("Where introspection is off, the SDL is not read, and entities are", async () => {
    const app = productsApp({ introspection: false });
    expect((await errorsOf(app, "{ _service { sdl } }"))[0]!.message).toContain("introspection is off");
    const r = [{ __typename: "Product", id: "1" }];
    expect(await dataOf(app, entities(""), { r })).toEqual({ _entities: [{ __typename: "Product" }] });
  });

  it("A schema without entities has no _entities", async () => {
    const app = graphqlApp({ federation: true, typeDefs: "type Query { hello: String }" });
    expect((await errorsOf(app, "{ _entities(representations: []) { __typename } }"))[0]!.message).toContain(
      "_entities",
    );
    expect(await dataOf(app, "{ _service { sdl } }")).toMatchObject({ _service: {} });
  });

  it("An object that stands for two types is an error that tells the program", async () => {
    const shared = { id: "1" };
    const find = { __resolveReference: () => shared };
    const app = graphqlApp({
      federation: true,
      maskErrors: false,
      typeDefs: 'type A @key(fields: "id") { id: ID! } type B @key(fields: "id") { id: ID! }',
      resolvers: { A: find, B: find },
    });
    const r = ["A", "B"].map((name) => ({ __typename: name, id: "1" }));
    const { body } = await post(app, { query: entities(""), variables: { r } });
    expect(body.data).toEqual({ _entities: [{ __typename: "A" }, null] });
    expect(body.errors![0]!.message).toContain("references of A and B: return a copy");
  });

  it.each<[string, GraphqlOptions, string]>([
    [
      "@key without the option",
      { typeDefs: 'type Query { a: A } type A @key(fields: "id") { id: ID! }' },
      "Set federation: true.",
    ],
    [
      "@key without fields",
      { federation: true, typeDefs: 'type Query { a: A } type A @key(fields: "") { id: ID! }' },
      "@key of the type 'A' has no fields",
    ],
    [
      "a function without @key",
      {
        federation: true,
        typeDefs: "type Query { a: A } type A { id: ID! }",
        resolvers: { A: { __resolveReference: () => null } },
      },
      "'A' has a function for references and no @key",
    ],
  ])("The start ends with %s", async (_what, options, message) => {
    await expect(graphqlApp(options).start()).rejects.toThrow(message);
  });

  it("Keys and directives are checked when they are written, and a GraphQLSchema brings its own federation", () => {
    const app = productsApp();
    const type = app.graphql.type("Other", { id: "ID!" });
    expect(() => type.key("")).toThrow("key() of Other needs the names of fields");
    expect(() => type.key("id", "find" as never)).toThrow("key() of Other takes fields and a function");
    expect(() => type.directive("shareable")).toThrow('Other needs a directive such as "@shareable", not "shareable"');
    const schema = buildSchema("type Query { a: Int }");
    expect(() => graphqlApp({ federation: true, schema })).toThrow("option 'federation' in GraphQLConfig goes with");
  });
});
