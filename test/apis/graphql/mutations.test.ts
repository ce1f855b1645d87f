import { type App, openDatabase, Role } from "stoa";
import { bindDatabase, createTables, field, Model, View } from "stoa/orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyDatabases, makeDatabase } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { dataOf, post, quietApp, type Reply } from "./support.js";

class Shelf extends Model("mutated_shelves", {
  id: field.auto(),
  name: field.char({ maxLength: 20, unique: true }),
  owner: field.text(),
}) {}

class Note extends Model("mutated_notes", {
  id: field.bigAuto(),
  title: field.char({ maxLength: 10, minLength: 2 }),
  owner: field.text(),
  shelf: field.foreignKey(() => Shelf, { null: true, onDelete: "restrict" }),
  size: field.bigInt({ default: 7n, max: 1000n }),
  due: field.datetime({ null: true }),
  tags: field.array(field.text(), { default: [] }),
  extra: field.json({ null: true }),
  kind: field.enum(["short", "long"], { default: "short" }),
  pin: field.text({ hidden: true, default: "0000" }),
  level: field.int({ readOnly: true, default: 1 }),
  createdAt: field.datetime({ autoNowAdd: true }),
  version: field.version(),
}) {}
Note.on("beforeSave", (note) => {
  if (note.title === "boom") throw new Error("secret");
});

class Label extends Model("mutated_labels", { id: field.auto(), text: field.text({ unique: true }) }) {}

const models = [Shelf, Note, Label];
const server = service("postgres");
const empty = emptyDatabases(server);

describe.skipIf(!server)("mutations of models", () => {
  let app: App;
  let db: Awaited<ReturnType<typeof openDatabase>> | undefined;
  let drop: (() => Promise<void>) | undefined;
  const as = (user: string, query: string, variables?: object): Promise<Reply> =>
    post(app, { query, variables }, { "x-user": user });
  const errorOf = ({ body }: Reply): { message: string | undefined } & Record<string, unknown> => {
    const [error] = body.errors ?? [];
    return { message: error?.message, ...error?.extensions };
  };
  const create =
    "mutation ($input: CreateNoteInput!) { createNote(input: $input) { id title version shelf { name } } }";
  const update =
    "mutation ($id: ID!, $v: Int!, $input: UpdateNoteInput!) { updateNote(id: $id, version: $v, input: $input) { id title version shelfId } }";
  const createNote = async (user: string, input: object): Promise<{ id: string; version: number }> => {
    const { body } = await as(user, create, { input });
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body.data?.["createNote"] as never;
  };
  const rowOf = async (id: string) => (await Note.objects.filter({ id: BigInt(id) }).first())!;

  beforeAll(async () => {
    const made = await makeDatabase(server!);
    drop = made.drop;
    db = await openDatabase(made.url);
    bindDatabase(db);
    await createTables(db, models);
    app = quietApp();
    app.enableDatabase(made.url).enableGraphql({ maskErrors: true });
    const mine = ({ context }: { context: { user?: unknown } }) => ({ owner: context.user as string });
    app.graphql.model(Shelf, { visible: mine, mutations: { create: true, delete: true } });
    app.graphql.model(Note, {
      visible: mine,
      fields: [
        ...(["id", "title", "owner", "shelfId", "shelf", "size", "due", "tags", "extra", "kind"] as const),
        ...(["level", "createdAt", "version"] as const),
      ],
      mutations: {
        create: { fields: ["title", "shelfId", "size", "due", "tags", "extra", "kind", "pin"], values: mine },
        update: true,
        delete: { name: "dropNote" },
      },
    });
    app.graphql.model(Label, { mutations: { create: { guards: [new Role("editor")] } } });
    app.use({
      before(request) {
        request.context.user = request.headers.get("x-user") ?? "nobody";
        request.context.roles = [];
      },
    });
    await app.start();
  });
  afterAll(async () => {
    bindDatabase(null);
    await app?.stop();
    await db?.close();
    await drop?.();
  });

  it("A model has only the mutations that its options name, and inputs without fields that clients cannot send", async () => {
    const query =
      '{ m: __type(name: "Mutation") { fields { name args { name } } } c: __type(name: "CreateNoteInput") { inputFields { name type { kind } } } u: __type(name: "UpdateNoteInput") { inputFields { name type { kind } } } }';
    type Names = { name: string; args: { name: string }[]; type: { kind: string } }[];
    const { m, c, u } = (await dataOf(app, query)) as { m: { fields: Names } } & Record<
      "c" | "u",
      { inputFields: Names }
    >;
    expect(m.fields.map(({ name, args }) => `${name}(${args.map((each) => each.name)})`)).toEqual([
      "createShelf(input)",
      "deleteShelf(id)",
      "createNote(input)",
      "updateNote(id,version,input)",
      "dropNote(id,version)",
      "createLabel(input)",
    ]);
    const required = ({ inputFields }: { inputFields: Names }) =>
      inputFields.map(({ name, type }) => (type.kind === "NON_NULL" ? `${name}!` : name));
    expect(required(c)).toEqual(["title!", "shelfId", "size", "due", "tags", "extra", "kind", "pin"]);
    expect(required(u)).toEqual(["title", "owner", "shelfId", "size", "due", "tags", "extra", "kind"]);
  });

  it("A row is created, updated and deleted, with every type of column and the values of the application", async () => {
    const input = {
      title: "one",
      size: "900",
      due: "2024-01-02T03:04:05Z",
      tags: ["a"],
      extra: { b: [1] },
      kind: "long",
    };
    const { id, version } = await createNote("ann", { ...input, pin: "1234" });
    const { title, owner, size, due, tags, extra, kind, pin } = await rowOf(id);
    expect({ title, owner, size, due, tags, extra, kind, pin }).toEqual({
      ...{ ...input, size: 900n, due: new Date(input.due) },
      ...{ owner: "ann", pin: "1234" },
    });
    const changed = await as("ann", update, { id, v: version, input: { title: "two", due: null } });
    expect(changed.body.data).toEqual({ updateNote: { id, title: "two", version: version + 1, shelfId: null } });
    expect(await rowOf(id)).toMatchObject({ title: "two", due: null, size: 900n, level: 1 });
    const dropped = await as("ann", `mutation { dropNote(id: ${id}, version: ${version + 1}) }`);
    expect(dropped.body.data).toEqual({ dropNote: id });
    expect(await Note.objects.filter({ id: BigInt(id) }).count()).toBe(0);
  });

  it.each([
    [{ title: "x" }, ["title"], "string_too_short"],
    [{ title: "longer than ten" }, ["title"], "string_too_long"],
    [{ title: "ok", size: "1001" }, ["size"], "less_than_equal"],
    [{ title: "a\u0000b" }, ["title"], "string_null_byte"],
    [{ title: "ok", tags: ["fine", null] }, ["tags", 1], "string_type"],
    [{ title: "ok", kind: null }, ["kind"], "enum"],
  ])("Values %j are refused by the checks of a body", async (input, loc, type) => {
    const error = errorOf(await as("ann", create, { input }));
    expect(error).toMatchObject({ code: "BAD_USER_INPUT", status: 400, detail: [{ loc, type }] });
  });

  it("A JSON value with the name of a prototype, or half a character, is refused", async () => {
    for (const extra of ["{ __proto__: { admin: true } }", '{ text: "\\uD800" }']) {
      const reply = await as("ann", `mutation { createNote(input: { title: "ok", extra: ${extra} }) { id } }`);
      expect(errorOf(reply)["code"] ?? errorOf(reply).message, extra).toMatch(/BAD_USER_INPUT|Syntax Error/);
    }
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
  });

  it("A row that is not visible is neither updated nor deleted", async () => {
    const { id, version } = await createNote("ann", { title: "hers" });
    const input = { title: "his" };
    expect(errorOf(await as("bob", update, { id, v: version, input }))).toMatchObject({
      code: "NOT_FOUND",
      status: 404,
    });
    const dropped = await as("bob", `mutation { dropNote(id: ${id}, version: ${version}) }`);
    expect(errorOf(dropped)).toMatchObject({ code: "NOT_FOUND", status: 404 });
    expect((await rowOf(id)).title).toBe("hers");
  });

  it("A write that would hide the row from its client is undone", async () => {
    const { id, version } = await createNote("ann", { title: "hers" });
    const reply = await as("ann", update, { id, v: version, input: { owner: "bob" } });
    expect(errorOf(reply)).toMatchObject({ code: "FORBIDDEN", status: 403 });
    expect((await rowOf(id)).owner).toBe("ann");
    const foreign = await as("ann", 'mutation { createShelf(input: { name: "his", owner: "bob" }) { id } }');
    expect(errorOf(foreign)).toMatchObject({ code: "FORBIDDEN" });
    expect(await Shelf.objects.filter({ name: "his" }).count()).toBe(0);
  });

  it("A version that is not that of the row is a conflict, also if nothing would change", async () => {
    const { id, version } = await createNote("ann", { title: "first" });
    await as("ann", update, { id, v: version, input: { title: "second" } });
    for (const title of ["third", "second"]) {
      const stale = await as("ann", update, { id, v: version, input: { title } });
      expect(errorOf(stale)).toMatchObject({ code: "CONFLICT", status: 409 });
    }
    const dropped = await as("ann", `mutation { dropNote(id: ${id}, version: ${version}) }`);
    expect(errorOf(dropped)).toMatchObject({ code: "CONFLICT" });
    expect((await rowOf(id)).title).toBe("second");
  });

  it("A unique or foreign key that refuses a write is a conflict with its columns", async () => {
    const shelf = await as("ann", 'mutation { createShelf(input: { name: "top", owner: "ann" }) { id } }');
    const { id } = shelf.body.data!["createShelf"] as { id: string };
    const twice = await as("ann", 'mutation { createShelf(input: { name: "top", owner: "ann" }) { id } }');
    expect(errorOf(twice)).toEqual({
      ...{ message: "Another resource has the same values.", code: "CONFLICT", status: 409 },
      columns: ["name"],
    });
    await createNote("ann", { title: "on top", shelfId: id });
    expect(errorOf(await as("ann", `mutation { deleteShelf(id: ${id}) }`))).toMatchObject({
      ...{ message: "A related resource does not exist, or is in use.", code: "CONFLICT" },
    });
  });

  it("A foreign key takes only rows that are visible, and does not tell them from rows that do not exist", async () => {
    const shelf = await as("bob", 'mutation { createShelf(input: { name: "bobs", owner: "bob" }) { id } }');
    const { id } = shelf.body.data!["createShelf"] as { id: string };
    const his = errorOf(await as("ann", create, { input: { title: "note", shelfId: id } }));
    const none = errorOf(await as("ann", create, { input: { title: "note", shelfId: "99999" } }));
    expect(his).toMatchObject({ code: "BAD_USER_INPUT", message: "shelfId: There is no such resource." });
    expect(none).toEqual(his);
  });

  it("Guards refuse a mutation, and an error of a hook of the model is hidden", async () => {
    const label = await as("ann", 'mutation { createLabel(input: { text: "x" }) { id } }');
    expect(errorOf(label)["status"]).toBe(403);
    expect(errorOf(await as("ann", create, { input: { title: "boom" } }))).toMatchObject({
      message: "Internal Server Error",
    });
  });

  it("Fields of a mutation are read after it, and the next mutation reads again", async () => {
    const shelf = await as("ann", 'mutation { createShelf(input: { name: "low", owner: "ann" }) { id } }');
    const { id: shelfId } = shelf.body.data!["createShelf"] as { id: string };
    const { id } = await createNote("ann", { title: "moved" });
    const query = `mutation ($id: ID!, $shelfId: ID) {
      a: updateNote(id: $id, version: 1, input: { shelfId: $shelfId }) { shelf { name } }
      b: updateNote(id: $id, version: 2, input: { shelfId: null, title: "free" }) { title shelf { name } }
    }`;
    expect((await as("ann", query, { id, shelfId })).body).toEqual({
      data: { a: { shelf: { name: "low" } }, b: { title: "free", shelf: null } },
    });
  });
});

describe("options of mutations", () => {
  it.each<[object, RegExp]>([
    [{ mutations: { upsert: true } }, /upsert/],
    [{ mutations: { create: "yes" } }, /create/],
    [{ mutations: { create: { guard: [] } } }, /guard/],
    [{ mutations: { create: { fields: ["level"] }, values: () => ({}) } }, /values/],
  ])("Options %j are refused", (options, message) => {
    expect(() =>
      quietApp()
        .enableGraphql()
        .graphql.model(Note, options as never),
    ).toThrow(message);
  });

  it.each<[object, RegExp]>([
    [{ create: { fields: ["title", "level"] } }, /'level', which clients cannot write/],
    [{ update: { fields: ["id"] } }, /'id', which clients cannot write/],
    [{ create: { fields: ["title"] } }, /lacks 'owner', which is required/],
  ])("Mutations %j end the start", async (mutations, message) => {
    const app = quietApp()
      .enableDatabase(await empty())
      .enableGraphql();
    app.graphql.model(Note, { mutations });
    await expect(app.start()).rejects.toThrow(message);
  });

  it("Mutations of a view end the start, and a view without them is read", async () => {
    class Name extends View(
      "mutated_names",
      { name: field.text({ primaryKey: true }) },
      { as: "select 'x' as name" },
    ) {}
    const start = async (options: object): Promise<App> => {
      const app = quietApp()
        .enableDatabase(await empty())
        .enableGraphql();
      app.graphql.model(Name, options);
      app.onEvent("startup", () => createTables(app.database, [Name]));
      await app.start();
      return app;
    };
    await expect(start({ mutations: { delete: true } })).rejects.toThrow("Name is a view: its rows are read only");
    const app = await start({});
    expect(await dataOf(app, "{ names { nodes { name } } }")).toEqual({ names: { nodes: [{ name: "x" }] } });
    await app.stop();
  });
});
