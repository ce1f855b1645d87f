import { getIntrospectionQuery } from "graphql";
import { beforeAll, describe, expect, it } from "vitest";
import { errorsOf, get, graphqlApp, type Problem, post } from "./support.js";

const typeDefs = `
  type Query { me: User  users(first: Int): [User!]!  echo(text: String): String  conn(first: Int): Connection! }
  extend type Query { pages(first: Int, last: Int, page: Page): [User!]  chunk(n: Int): [User!]  report: User }
  extend type Query { defaults(page: Limited): [User!]  several(pages: [Page!]): [User!]  byIds(ids: [ID!]!): [User!] }
  extend type Query { randoms(n: Int): [Float!]  blob(bytes: Int): String  codes(take: Int): [String!]  names: [String!] }
  extend type Query { byIdsPage(ids: [ID!]!): Connection!  ends(first: Int, last: Int): [User!]  spelled(page_size: Int): [User!] }
  extend type Query { save(values: [Float!]!): Boolean  matrix(rows: [[Int!]!]!): Boolean }
  extend type Query { usual(first: Int = 20): [User!]  search(first: Int): Found!  avatar(size: Int): Image! }
  extend type Query { found(filter: UserFilter, first: Int): [User!]  match(where: UserFilter): User  make(input: UserFilter): User }
  input UserFilter { and: [UserFilter!]  not: UserFilter  id: IdFilter  name: NameFilter }
  input IdFilter { eq: ID  in: [ID!] }
  input NameFilter { eq: String  gt: String }
  type Found { users: Users!  total: Int! }
  type Users { hits: [User!]! }
  type Image { url: String! }
  input Page { limit: Int }
  input Limited { limit: Int = 100000 }
  type User { id: ID! name: String friends: [User!]!  best: User }
  type Connection { edges: [Edge!]! }
  type Edge { node: User! }
`;
const resolvers = { Query: { chunk: { size: "n" }, report: { cost: 2000 }, blob: { size: "bytes" } } };
const app = graphqlApp({ typeDefs, resolvers, introspection: true });
const nested = (depth: number): string => `${"{ best ".repeat(depth)}{ id }${" }".repeat(depth)}`;
const repeated = (text: (i: number) => string, count: number): string =>
  Array.from({ length: count }, (_, i) => text(i)).join(" ");

/** Documents that are to be refused, and the limit that refuses them; null for rules of GraphQL itself. */
const hostile: [name: string, document: string, limit: string | null][] = [
  ["30 levels", `{ me ${nested(30)} }`, "depth"],
  ["400 levels", `{ me ${nested(400)} }`, "depth"],
  ["30,000 levels", `{ me ${nested(30_000)} }`, "characters"],
  ["14,000 brackets in a value", `{ echo(text: ${"[".repeat(14_000)} }`, null],
  [
    "levels that come by fragments",
    `{ me { ...F0 } } ${repeated((i) => `fragment F${i} on User { best { ${i < 19 ? `...F${i + 1}` : "id"} } }`, 20)}`,
    "depth",
  ],
  ["a fragment that contains itself", "{ me { ...F } } fragment F on User { best { ...F } }", null],
  [
    "two fragments that contain each other",
    "{ me { ...F } } fragment F on User { ...G } fragment G on User { ...F }",
    null,
  ],
  ["a fragment without use that contains itself", "{ me { id } } fragment F on User { ...F }", null],
  [
    "fragments that triple at each level",
    `{ me { ...F0 } } ${repeated((i) => `fragment F${i} on User { a: best { ...F${i + 1} } b: best { ...F${i + 1} } c: best { ...F${i + 1} } }`, 9)} fragment F9 on User { id }`,
    "complexity",
  ],
  [
    "fragments that multiply",
    `{ me { ...F0 } } ${repeated((i) => `fragment F${i} on User { ${`best { ...F${i + 1} } `.repeat(4)} }`, 9)} fragment F9 on User { id }`,
    "complexity",
  ],
  ["500 aliases", `{ ${repeated((i) => `a${i}: me { id }`, 200)} }`, "aliases"],
  ["200 equal fields with equal fields inside", `{ ${"me { best { id name id name } } ".repeat(150)} }`, "complexity"],
  ["900 equal fields", `{ ${"me { id } ".repeat(450)} }`, "complexity"],
  ["5,000 fields", `{ ${"me { id } ".repeat(5000)} }`, "tokens"],
  ["100,000 fields", `{ ${"me { id } ".repeat(100_000)} }`, "characters"],
  ["a string of 5 MB", `{ echo(text: "${"x".repeat(5_000_000)}") }`, "characters"],
  ["a name of 90,000 characters", `{ ${"x".repeat(90_000)} }`, null],
  ["200 directives", `{ me { id ${"@include(if: true) ".repeat(200)} } }`, "directives"],
  ["500 unknown directives", `{ me { id ${repeated((i) => `@d${i}`, 500)} } }`, "directives"],
  ["500 wrong variables", `query (${repeated((i) => `$v${i}: Wrong`, 400)}) { me { id } }`, null],
  ["lists in lists", "{ users { friends { friends { friends { id } } } } }", "complexity"],
  ["a long list", "{ users(first: 100000) { id } }", "complexity"],
  ["a long page", "{ conn(first: 100000) { edges { node { id } } } }", "complexity"],
  ["a long list two levels below its number", "{ search(first: 100000) { users { hits { id } } } }", "complexity"],
  ["a long list beside a short one", "{ pages(first: 1, last: 100000) { id } }", "complexity"],
  ["a long list in an input object", "{ pages(page: { limit: 100000 }) { id } }", "complexity"],
  ["a long list by an argument of any name", "{ chunk(n: 100000) { id } }", "complexity"],
  ["a long list by a default in an input object", "{ defaults(page: {}) { id } }", "complexity"],
  [
    "a long list in a list of input objects",
    "{ several(pages: [{ limit: 1 }, { limit: 100000 }]) { id } }",
    "complexity",
  ],
  ["a long list of scalars", "{ randoms(n: 100000) }", "complexity"],
  ["a long list of scalars by a name for sizes", "{ codes(take: 100000) }", "complexity"],
  ["a scalar of a given size", "{ blob(bytes: 100000) }", "complexity"],
  ["both ends of a list", "{ ends(first: 2600, last: 2600) { id } }", "complexity"],
  ["a long list by a name in snake case", "{ spelled(page_size: 100000) { id } }", "complexity"],
  [
    "an item for each one of a list",
    `{ byIds(ids: [${"1,".repeat(600)}]) { a: id b: id c: id d: id e: id f: id g: id h: id } }`,
    "complexity",
  ],
  [
    "a page for each one of a list",
    `{ byIdsPage(ids: [${"1,".repeat(900)}]) { edges { node { id name best { id name } } } } }`,
    "complexity",
  ],
  ["a field of a high cost", "{ a: report { id } b: report { id } c: report { id } }", "complexity"],
  ["300 operations", repeated((i) => `query Q${i} { me { id } }`, 300), "tokens"],
  ["comments of 200,000 characters", `#${"x".repeat(200_000)}\n{ me { id } }`, "characters"],
  [
    "introspection that loops",
    "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
    null,
  ],
];

function limitOf([error]: readonly Problem[]): unknown {
  return error?.extensions?.["limit"] ?? null;
}

describe("hostile documents", () => {
  beforeAll(() => app.start());

  it.each(hostile)("%s: refused, without being executed", async (_name, query, limit) => {
    const { status, body } = await post(app, { query });
    expect(status).toBe(400);
    expect(body).not.toHaveProperty("data");
    expect(limitOf(body.errors!)).toBe(limit);
  });

  it("Each hostile document takes less than half a second of CPU time", async () => {
    // Warm: the first documents pay for code that is compiled once.
    for (const [, query] of hostile) await post(app, { query });
    const times: [number, string][] = [];
    for (const [name, query] of hostile) {
      const begin = process.cpuUsage();
      await post(app, { query });
      const { user, system } = process.cpuUsage(begin);
      times.push([(user + system) / 1000, name]);
    }
    const [slowest = [0, ""]] = times.sort(([a], [b]) => b - a);
    // CPU time, not elapsed: a busy machine does not change it much. Unbounded, several of these take minutes.
    expect(slowest[0], slowest[1]).toBeLessThan(2000);
  });

  it("Unknown keys of large variables have one error, and none repeats a large value", async () => {
    const query = "query ($page: Page) { pages(page: $page) { id } }";
    const keys = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, i]));
    expect(await errorsOf(app, query, { page: keys(9) })).toHaveLength(9);
    for (const page of [keys(50_000), { limit: "x".repeat(500_000) }, { limit: [keys(50_000)] }]) {
      expect(JSON.stringify(await errorsOf(app, query, { page })).length).toBeLessThan(6_000);
    }
  });

  it.each([
    ["nested 6,500 levels deep", `${"[".repeat(6500)}${"]".repeat(6500)}`],
    ["with a key that reaches a prototype", '{ "__proto__": {} }'],
  ])("Variables of a GET request are read as strictly as those of a body: %s", async (_name, value) => {
    const query = "query ($page: Page) { pages(page: $page) { id } }";
    const { status, body } = await get(app, { query, variables: `{ "page": ${value} }` });
    expect([status, body.errors?.[0]?.message]).toEqual([400, "'variables' must be JSON."]);
    expect((await post(app, `{ "query": "${query}", "variables": { "page": ${value} } }`)).status).toBe(400);
  });

  it("A variable counts with its value in the cost of a list", async () => {
    const query = "query ($n: Int) { users(first: $n) { id name } }";
    expect(limitOf(await errorsOf(app, query, { n: 1_000_000 }))).toBe("complexity");
    expect(limitOf(await errorsOf(app, query, { n: 10 }))).toBe(null);
    expect(limitOf(await errorsOf(app, query, { n: 1_000_000 }))).toBe("complexity");
  });

  it("Every list that a client sends is bounded by the cost, also one of lists and one in a variable", async () => {
    const list = (length: number): number[] => Array.from({ length }, () => 1);
    const save = "query ($values: [Float!]!) { save(values: $values) }";
    expect(limitOf(await errorsOf(app, save, { values: list(4_000) }))).toBe(null);
    expect(limitOf(await errorsOf(app, save, { values: list(5_000) }))).toBe("complexity");
    const matrix = "query ($rows: [[Int!]!]!) { matrix(rows: $rows) }";
    expect(limitOf(await errorsOf(app, matrix, { rows: [list(2_000), list(2_000)] }))).toBe(null);
    expect(limitOf(await errorsOf(app, matrix, { rows: [list(2_500), list(2_500)] }))).toBe("complexity");
  });

  it("A cost is exact: fields, items of lists in arguments, and items that were asked for", async () => {
    const costs: [query: string, cost: number][] = [
      ["{ me { id } }", 2],
      ["{ users { id name } }", 21],
      ["{ users(first: 3) { id name } }", 7],
      ["{ ends(first: 3, last: 2) { id } }", 6],
      ["{ pages(first: 3, page: { limit: 2 }) { id } }", 4],
      ["{ a: names b: names }", 2],
      ["{ codes(take: 7) }", 8],
      ["{ byIds(ids: [1, 2]) { id } }", 13],
      [`{ byIds(ids: [${"1,".repeat(12)}]) { id } }`, 25],
      ["{ conn(first: 4) { edges { node { id } } } }", 10],
      ["{ search(first: 20) { users { hits { id } } total } }", 24],
      ["{ avatar(size: 128) { url } }", 2],
      ["{ save(values: [1, 2, 3]) }", 4],
      ["{ usual(first: null) { id } }", 21],
      ["{ found(first: 3, filter: {}) { id } }", 4],
      ['{ found(first: 3, filter: { id: { eq: 1 }, name: { eq: null, gt: "a" } }) { id } }', 7],
      ["{ found(first: 3, filter: { id: { in: [1, 2] } }) { id } }", 7],
      ["{ found(first: 3, filter: { and: [{ id: { eq: 1 } }, { not: { id: { eq: 2 } } }] }) { id } }", 8],
      ["{ match(where: { id: { eq: 1 } }) { id } }", 3],
      ["{ make(input: { id: { eq: 1 } }) { id } }", 2],
      // The same fragment in a page of 4 items, and in one whose size is not known.
      [
        "{ conn(first: 4) { ...C } byIdsPage(ids: [1]) { ...C } } fragment C on Connection { edges { node { id } } }",
        33,
      ],
    ];
    for (const [query, cost] of costs) {
      const under = graphqlApp({ typeDefs, resolvers, limits: { complexity: cost } });
      const over = graphqlApp({ typeDefs, resolvers, limits: { complexity: cost - 1 } });
      expect([limitOf(await errorsOf(under, query)), limitOf(await errorsOf(over, query)), query]).toEqual([
        null,
        "complexity",
        query,
      ]);
    }
  });

  it("A condition of a filter costs 1 for each list that it belongs to, in a variable as in the document", async () => {
    const types = `${typeDefs} extend type User { found(filter: UserFilter, first: Int): [User!] }`;
    const literal = "{ users(first: 4) { found(first: 1, filter: { id: { eq: 1 } }) { id } } }";
    const variable = "query ($f: UserFilter) { users(first: 4) { found(first: 1, filter: $f) { id } } }";
    const filter = { id: { eq: 1 } };
    for (const [complexity, limit] of [
      [13, null],
      [12, "complexity"],
    ] as const) {
      const limited = graphqlApp({ typeDefs: types, resolvers, limits: { complexity } });
      expect(limitOf(await errorsOf(limited, literal))).toBe(limit);
      expect(limitOf(await errorsOf(limited, variable, { f: filter }))).toBe(limit);
      expect(limitOf(await errorsOf(limited, variable, {}))).toBe(null);
    }
  });

  it("A page counts its items once, and the list inside a connection does not multiply them again", async () => {
    const query = "{ conn(first: 400) { edges { node { id name } } } }";
    expect(limitOf(await errorsOf(app, query))).toBe(null);
  });

  it("The introspection query of tools passes the limits", async () => {
    expect(await errorsOf(app, getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true }))).toEqual([]);
  });

  it("Limits of documents can be changed, and switched off with 0", async () => {
    const open = graphqlApp({ typeDefs, limits: { depth: 0, aliases: 0 } });
    expect(await errorsOf(open, `{ me ${nested(30)} }`)).toEqual([]);
    expect(limitOf(await errorsOf(graphqlApp({ typeDefs, limits: { depth: 2 } }), "{ me { best { id } } }"))).toBe(
      "depth",
    );
  });

  it("A document of many levels is refused or executed without a limit of depth, and the process continues", async () => {
    const open = graphqlApp({ typeDefs, limits: { depth: 0, tokens: 0, characters: 0, complexity: 0 } });
    const { status } = await post(open, { query: `{ me ${nested(20_000)} }` });
    expect([200, 400]).toContain(status);
    expect((await post(open, { query: "{ me { id } }" })).status).toBe(200);
  });
});
