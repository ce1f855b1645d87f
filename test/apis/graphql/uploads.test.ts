import { createHash, randomBytes } from "node:crypto";
import type { GraphqlOptions } from "stoa";
import type { FormFile } from "stoa/graphql";
import { serve, type TestServer } from "stoa/testing";
import { afterEach, describe, expect, it } from "vitest";
import { graphqlApp, post, quietApp } from "./support.js";

const typeDefs = `
  input Gallery { title: String! pictures: [Upload!]! }
  type Query { hello: String }
  type Mutation { add(file: Upload!): String all(files: [Upload]): [String] gallery(gallery: Gallery!): [String!]! }
`;

const describeFile = (file: FormFile | null): string | null =>
  file && `${file.filename} ${file.type} ${createHash("sha256").update(file.bytes).digest("hex").slice(0, 8)}`;

const resolvers = {
  Query: { hello: () => "hello" },
  Mutation: {
    add: (_parent: unknown, { file }: { file: FormFile }) => describeFile(file),
    all: (_parent: unknown, { files }: { files: FormFile[] }) => files.map(describeFile),
    gallery: (_parent: unknown, { gallery }: { gallery: { pictures: FormFile[] } }) =>
      gallery.pictures.map(describeFile),
  },
};

const opened: TestServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

async function uploading(uploads: GraphqlOptions["uploads"] = true, more: GraphqlOptions = {}): Promise<TestServer> {
  const server = await serve(graphqlApp({ typeDefs, resolvers, uploads: uploads!, ...more }));
  opened.push(server);
  return server;
}

interface Sent {
  operations?: unknown;
  map?: unknown;
  files?: Record<string, Uint8Array | string>;
  headers?: Record<string, string>;
}

const add = { query: "mutation ($file: Upload!) { add(file: $file) }", variables: { file: null } };
const preflight = { "graphql-preflight": "1" };

async function send(server: TestServer, { operations, map, files = {}, headers = preflight }: Sent) {
  const form = new FormData();
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  if (operations !== undefined) form.append("operations", text(operations));
  if (map !== undefined) form.append("map", text(map));
  for (const [name, bytes] of Object.entries(files))
    form.append(name, new Blob([bytes], { type: "image/png" }), `${name}.png`);
  const response = await fetch(`${server.url}/graphql`, { method: "POST", body: form, headers });
  const body = (await response.json()) as { data?: unknown; errors?: { message: string }[] };
  return { status: response.status, body, message: body.errors?.[0]?.message };
}

describe("uploads", () => {
  it("Two files of the same name are refused", async () => {
    const server = await uploading();
    const form = new FormData();
    form.append("operations", JSON.stringify(add));
    form.append("map", '{"0":["variables.file"]}');
    for (const text of ["a", "b"]) form.append("0", new Blob([text]), "0.png");
    const response = await fetch(`${server.url}/graphql`, { method: "POST", body: form, headers: preflight });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { errors: [{ message: "A file of the form is not in 'map', or is in it twice." }] },
    ]);
  });

  it("A file reaches its resolver as it was sent, in a variable, a list and an input", async () => {
    const server = await uploading();
    const [one, two] = [randomBytes(200_000), Buffer.from("two")];
    const name = (key: string, bytes: Buffer) =>
      `${key}.png image/png ${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}`;
    const single = await send(server, { operations: add, map: { 0: ["variables.file"] }, files: { 0: one } });
    expect(single).toMatchObject({ status: 200, body: { data: { add: name("0", one) } } });
    const all = { query: "mutation ($f: [Upload]) { all(files: $f) }", variables: { f: [null, null, null] } };
    const list = await send(server, {
      operations: all,
      map: { a: ["variables.f.0", "variables.f.2"] },
      files: { a: two },
    });
    expect(list.body).toEqual({ data: { all: [name("a", two), null, name("a", two)] } });
    const gallery = {
      query: "mutation ($g: Gallery!) { gallery(gallery: $g) }",
      variables: { g: { title: "x", pictures: [null] } },
    };
    const nested = await send(server, {
      operations: gallery,
      map: { p: ["variables.g.pictures.0"] },
      files: { p: one },
    });
    expect(nested.body).toEqual({ data: { gallery: [name("p", one)] } });
  });

  it("Files of a list of operations stand at the variables of their operation", async () => {
    const server = await uploading(true, { limits: { batch: 2 } });
    const { body } = await send(server, {
      operations: [{ query: "{ hello }" }, add],
      map: { 0: ["1.variables.file"] },
      files: { 0: "a" },
    });
    expect(body).toEqual([
      { data: { hello: "hello" } },
      { data: { add: expect.stringMatching(/^0\.png image\/png/) } },
    ]);
  });

  it("Without the option, and without a field that needs a preflight, a form is refused", async () => {
    const sent = { operations: add, map: { 0: ["variables.file"] }, files: { 0: "a" } };
    expect((await send(await uploading(false), sent)).status).toBe(415);
    const server = await uploading();
    expect(await send(server, { ...sent, headers: {} })).toMatchObject({
      status: 403,
      message: expect.stringContaining("GraphQL-Preflight"),
    });
    for (const name of ["Apollo-Require-Preflight", "X-Apollo-Operation-Name"]) {
      expect((await send(server, { ...sent, headers: { [name]: "true" } })).status).toBe(200);
    }
  });

  it.each<[string, Sent, RegExp]>([
    ["no operations", { map: {} }, /no field 'operations'/],
    ["no map", { operations: add }, /no field 'map'/],
    ["operations that are no JSON", { operations: "{", map: {} }, /'operations' of the form must be JSON/],
    [
      "operations with a prototype",
      { operations: '{"variables":{"__proto__":null}}', map: {} },
      /'operations' of the form must be JSON/,
    ],
    ["a map that is a list", { operations: add, map: [] }, /'map' of the form must be an object/],
    ["a file that is missing", { operations: add, map: { 0: ["variables.file"] } }, /not in the form/],
    ["a file that the map does not name", { operations: add, map: {}, files: { 0: "a" } }, /not in 'map'/],
    ["no places", { operations: add, map: { 0: [] }, files: { 0: "a" } }, /list of places/],
    ["a place that is no text", { operations: add, map: { 0: [1] }, files: { 0: "a" } }, /list of places/],
    [
      "a place that does not exist",
      { operations: add, map: { 0: ["variables.other"] }, files: { 0: "a" } },
      /not null/,
    ],
    [
      "a place twice",
      { operations: add, map: { 0: ["variables.file", "variables.file"] }, files: { 0: "a" } },
      /not null/,
    ],
    [
      "the document as place",
      { operations: { query: null, variables: {} }, map: { 0: ["query"] }, files: { 0: "a" } },
      /not in the variables/,
    ],
    [
      "the variables as place",
      { operations: { ...add, variables: null }, map: { 0: ["variables"] }, files: { 0: "a" } },
      /not in the variables/,
    ],
    [
      "a prototype as place",
      { operations: add, map: { 0: ["variables.__proto__.__proto__"] }, files: { 0: "a" } },
      /not null/,
    ],
    [
      "a constructor as place",
      { operations: add, map: { 0: ["variables.constructor.prototype.x"] }, files: { 0: "a" } },
      /not null/,
    ],
    [
      "the length of a list",
      { operations: { ...add, variables: { file: [] } }, map: { 0: ["variables.file.length"] }, files: { 0: "a" } },
      /not null/,
    ],
    ["an empty place", { operations: add, map: { 0: [""] }, files: { 0: "a" } }, /not in the variables/],
  ])("A form with %s is refused", async (_what, sent, message) => {
    const { status, message: given } = await send(await uploading(), sent);
    expect([status, given]).toEqual([400, expect.stringMatching(message)]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it("A place of a thousand levels, and a map of many places, are refused in time", async () => {
    const server = await uploading();
    const deep = `variables${".a".repeat(100_000)}`;
    expect((await send(server, { operations: add, map: { 0: [deep] }, files: { 0: "a" } })).status).toBe(400);
    const many = Array.from({ length: 50_000 }, (_, i) => `variables.${i}`);
    expect((await send(server, { operations: add, map: { 0: many }, files: { 0: "a" } })).status).toBe(400);
  });

  it("More files than allowed, a file that is too large, and a body that is too large get 413", async () => {
    const server = await uploading({ maxFiles: 2, maxFileSize: 1000, bodyLimit: 5000 });
    const all = { query: "mutation ($f: [Upload]) { all(files: $f) }", variables: { f: [null, null, null] } };
    const map = { 0: ["variables.f.0"], 1: ["variables.f.1"] };
    const files = { 0: "a", 1: "b" };
    expect((await send(server, { operations: all, map, files })).status).toBe(200);
    const three = { ...files, 2: "c" };
    expect((await send(server, { operations: all, map: { ...map, 2: ["variables.f.2"] }, files: three })).status).toBe(
      413,
    );
    expect((await send(server, { operations: all, map, files: { 0: "a", 1: "b".repeat(1001) } })).status).toBe(413);
    expect((await send(server, { operations: "x".repeat(5001), map: {} })).status).toBe(413);
  });

  it("A value that is no file is refused in JSON, and so is a file in a literal", async () => {
    const app = graphqlApp({ typeDefs, resolvers, uploads: true });
    for (const file of ["text", { filename: "a", bytes: [] }, 1]) {
      const { status, body } = await post(app, { ...add, variables: { file } });
      expect([status, body.errors?.[0]?.message]).toEqual([400, expect.stringContaining("Upload must be a file")]);
    }
    expect((await post(app, { query: 'mutation { add(file: "x") }' })).status).toBe(400);
  });

  it("A field in code takes a file by its type", async () => {
    const app = quietApp();
    app.enableGraphql({ uploads: { maxFiles: 1 } });
    app.graphql.query("hello", "String", () => "hello");
    app.graphql.mutation("add", { type: "Int!", args: { file: "Upload!" } }, ({ file }) => file.size);
    const server = await serve(app);
    opened.push(server);
    const { body } = await send(server, { operations: add, map: { 0: ["variables.file"] }, files: { 0: "12345" } });
    expect(body).toEqual({ data: { add: 5 } });
  });

  it.each([{ maxFiles: 0 }, { maxFileSize: -1 }, { files: 1 }, "yes"])(
    "Uploads %j are refused as options",
    (uploads) => {
      expect(() => graphqlApp({ typeDefs, uploads: uploads as never })).toThrow("uploads");
    },
  );
});
