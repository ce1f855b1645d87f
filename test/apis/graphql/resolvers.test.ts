import { Depends, ForbiddenError, JwtAuth, Role } from "stoa";
import { feature } from "stoa/feature";
import { loader, resolver } from "stoa/graphql";
import { serve } from "stoa/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { service } from "../../support/service.js";
import { dataOf, errorsOf, graphqlApp, post, quietApp } from "./support.js";

describe("resolvers", () => {
  it("A resolver gets the request, its context and a signal", async () => {
    const app = graphqlApp({
      typeDefs: "type Query { method: String user: String aborted: Boolean }",
      resolvers: {
        Query: {
          method: (_parent, _args, { request }) => request.method,
          user: (_parent, _args, { context }) => context.user,
          aborted: (_parent, _args, { signal }) => signal.aborted,
        },
      },
    });
    app.use({ before: (request) => void (request.context.user = "ann") });
    expect(await dataOf(app, "{ method user aborted }")).toEqual({ method: "POST", user: "ann", aborted: false });
  });

  it.skipIf(!service("postgres"))(
    "Statements of resolvers are cancelled when an error has decided the result",
    async () => {
      const failures: unknown[] = [];
      const app = graphqlApp({
        typeDefs: "type Query { sleep: Int fails: Int! }",
        resolvers: {
          Query: {
            sleep: (_parent, _args, { db }) =>
              db
                .fetch("select 1 from pg_sleep(600) /* of a decided result */")
                .catch((error) => void failures.push(error)),
            fails: () => Promise.reject(new Error("decides")),
          },
        },
      });
      app.enableDatabase(service("postgres")!);
      const others = await openDatabase(service("postgres")!);
      onTestFinished(async () => {
        await others.close();
        await app.stop();
      });
      expect((await post(app, { query: "{ sleep fails }" })).body.data).toBe(null);
      // Not ended by the time limit of statements.
      await vi.waitFor(() => expect(failures).toMatchObject([{ message: "the statement was cancelled" }]));
      await vi.waitFor(async () => {
        const running = await others.fetch(
          "select pid from pg_stat_activity where state = 'active' and query like 'select 1 from pg_sleep(600) /* of%'",
        );
        expect(running).toEqual([]);
      });
    },
  );

  it("Guards of the application run before a document is parsed", async () => {
    const app = graphqlApp({ typeDefs: "type Query { a: Int }" });
    app.addGuard(() => "no");
    expect((await post(app, { query: "{" })).status).toBe(403);
  });

  it("A guard of a resolver refuses its field alone, and the other fields keep their values", async () => {
    const app = graphqlApp({
      typeDefs: "type Query { open: Int closed: Int later: Int broken: Int }",
      resolvers: {
        Query: {
          open: () => 1,
          closed: resolver({ guards: [new Role("admin")] }, () => 2),
          later: resolver({ guards: [async () => "not today"] }, () => 3),
          broken: resolver({ guards: [() => Promise.reject(new Error("secret"))] }, () => 4),
        },
      },
    });
    const { status, body } = await post(app, { query: "{ open closed later broken }" });
    expect(status).toBe(200);
    expect(body.data).toEqual({ open: 1, closed: null, later: null, broken: null });
    expect(body.errors?.map(({ message, extensions }) => [message, extensions?.["status"]])).toEqual([
      [expect.any(String), 401],
      ["not today", 403],
      [expect.not.stringContaining("secret"), 403],
    ]);
  });

  it("A resolver gets dependencies, and scoped ones are made once per request and disposed after it", async () => {
    const disposed: number[] = [];
    let made = 0;
    const scoped = resolver(
      { inject: { unit: Depends<{ id: number }>("unit"), base: Depends<number>("base") } },
      async (_parent, _args, _context, { unit, base }) => base + unit.id,
    );
    const app = graphqlApp({
      typeDefs: "type Query { a: Int b: Int }",
      resolvers: { Query: { a: scoped, b: scoped } },
    });
    app.registerSingleton("base", 100);
    app.registerScoped("unit", { dispose: ({ id }: { id: number }) => void disposed.push(id) }, async () => ({
      id: ++made,
    }));
    expect(await dataOf(app, "{ a b }")).toEqual({ a: 101, b: 101 });
    expect(await dataOf(app, "{ a }")).toEqual({ a: 102 });
    await expect.poll(() => disposed).toEqual([1, 2]);
  });

  it.each([
    ["one operation", { query: "{ slow required }" }, "application/json"],
    ["a list of operations", [{ query: "{ slow required }" }, { query: "{ __typename }" }], "application/json"],
    ["an event stream", { query: "{ slow required }" }, "text/event-stream"],
  ])(
    "Resolvers of %s that an error did not wait for are aborted, and scoped values disposed after them",
    async (_what, body, accept) => {
      const disposed: string[] = [];
      let end = (): void => {};
      let aborted = 0;
      const slow = resolver({ inject: { unit: Depends<string>("unit") } }, (_parent, _args, { signal }) => {
        signal.addEventListener("abort", () => aborted++);
        return new Promise<number>((resolve) => {
          end = () => resolve(1);
        });
      });
      const app = graphqlApp({
        typeDefs: "type Query { slow: Int required: Int! }",
        resolvers: { Query: { slow, required: () => Promise.reject(new Error("no value")) } },
        limits: { batch: 2 },
      });
      app.registerScoped("unit", { dispose: (unit: string) => void disposed.push(unit) }, () => "unit");
      let finished = 0;
      app.use({ before: (request) => request.onFinish(() => void finished++) });
      const headers = { "content-type": "application/json", accept };
      const response = await app.request("/graphql", { method: "POST", headers, body: JSON.stringify(body) });
      expect(await response.text()).toContain("errors");
      // The end of another request shows that this one could have ended.
      await (await app.request("/none")).text();
      await expect.poll(() => finished).toBeGreaterThanOrEqual(1);
      expect([finished, disposed, aborted]).toEqual([1, [], 1]);
      end();
      await expect.poll(() => disposed).toEqual(["unit"]);
      expect(finished).toBe(2);
      await app.stop();
    },
  );

  it.each([
    ["an error did not wait for", 30],
    ["ran out of time", 0.05],
  ])("Engines are closed after resolvers that %s", async (_why, requestTimeout) => {
    const events: string[] = [];
    let end = (): void => {};
    const app = graphqlApp({
      typeDefs: "type Query { slow: Int required: Int! }",
      resolvers: {
        Query: {
          required: () => (requestTimeout === 30 ? Promise.reject(new Error("no value")) : 1),
          slow: (_parent, _args, { signal }) =>
            new Promise<number>((resolve) => {
              signal.addEventListener("abort", () => events.push("aborted"));
              end = () => {
                events.push("ended");
                resolve(1);
              };
            }),
        },
      },
    });
    const engine = feature<object>({ name: "engine", isEngine: true, close: () => void events.push("closed") });
    app.install(engine).onEvent("shutdown", () => void setImmediate(end));
    const server = await serve(app, { requestTimeout });
    await (await fetch(`${server.url}/graphql?query={slow,required}`)).text();
    await server.close();
    expect(events).toEqual(["aborted", "ended", "closed"]);
  });

  it("A resolver that injects an unknown dependency fails the start", async () => {
    const a = resolver({ inject: { mail: Depends("mial") } }, () => 1);
    const app = graphqlApp({ typeDefs: "type Query { a: Int }", resolvers: { Query: { a } } });
    app.registerSingleton("mail", 1);
    await expect(app.start()).rejects.toThrow(
      "unknown dependency 'mial' (the field Query.a -> mial); did you mean 'mail'?",
    );
  });

  it("An error for clients that a resolver throws shows its message, its code and its status", async () => {
    const app = graphqlApp({
      typeDefs: "type Query { a: Int! }",
      resolvers: { Query: { a: () => Promise.reject(new ForbiddenError("not yours")) } },
    });
    const { body } = await post(app, { query: "{ a }" });
    expect(body).toMatchObject({
      data: null,
      errors: [{ message: "not yours", path: ["a"], extensions: { code: "FORBIDDEN", status: 403 } }],
    });
  });

  it("GraphQL requests are authenticated like those of any route", async () => {
    const app = graphqlApp({ typeDefs: "type Query { a: Int }", resolvers: { Query: { a: () => 1 } } });
    const auth = new JwtAuth({ secret: "s".repeat(32), algorithm: "HS256", expiration: 60 });
    app.use(auth);
    expect((await post(app, { query: "{ a }" })).status).toBe(401);
    const authorization = `Bearer ${await auth.createToken({ sub: "ann" })}`;
    expect((await post(app, { query: "{ a }" }, { authorization })).body).toEqual({ data: { a: 1 } });
  });
});

describe("loaders", () => {
  const typeDefs =
    "type Query { items: [Item!]! fail: Int } type Item { id: Int! owner: Owner } type Owner { id: Int! boss: Owner }";

  it("A loader collects the keys of an operation, loads each once, and starts over with the next operation", async () => {
    const batches: (readonly number[])[] = [];
    const owners = loader(async (ids: readonly number[]) => {
      batches.push(ids);
      return new Map(ids.filter((id) => id < 10).map((id) => [id, { id, bossId: 1 }]));
    });
    const app = graphqlApp({
      typeDefs,
      resolvers: {
        Query: { items: () => [1, 2, 3, 2, 99].map((id) => ({ id })) },
        Item: { owner: ({ id }: { id: number }, _args, context) => context.load(owners, id) },
        Owner: { boss: async ({ bossId }: { bossId: number }, _args, context) => context.load(owners, bossId) },
      },
    });
    const owner = (id: number): object => ({ owner: { id, boss: { id: 1 } } });
    const expected = { items: [owner(1), owner(2), owner(3), owner(2), { owner: null }] };
    expect(await dataOf(app, "{ items { owner { id boss { id } } } }")).toEqual(expected);
    expect(batches).toEqual([[1, 2, 3, 99]]);
    await dataOf(app, "{ items { owner { id } } }");
    expect(batches).toHaveLength(2);
  });

  it("A loader splits large batches, and passes errors on to each resolver", async () => {
    const sizes: number[] = [];
    const squares = loader(
      (keys: readonly number[]) => {
        sizes.push(keys.length);
        return keys.map((key) => (key === 2 ? new Error("no two") : key * key));
      },
      { maxBatch: 2 },
    );
    const broken = loader((keys: readonly number[]) => keys.slice(1));
    const app = graphqlApp({
      typeDefs,
      maskErrors: false,
      resolvers: {
        Query: {
          items: () => [1, 2, 3].map((id) => ({ id })),
          fail: (_parent, _args, context) => context.load(broken, 1),
        },
        Item: { owner: async ({ id }: { id: number }, _args, context) => ({ id: await context.load(squares, id) }) },
      },
    });
    const { body } = await post(app, { query: "{ items { owner { id } } fail }" });
    expect(body.data).toEqual({ items: [{ owner: { id: 1 } }, { owner: null }, { owner: { id: 9 } }], fail: null });
    expect(body.errors?.map(({ message }) => message).sort()).toEqual([
      "a loader returned 0 values for 1 keys",
      "no two",
    ]);
    expect(sizes).toEqual([2, 1]);
  });

  it("loader() refuses a value that is not a function, and resolver() a guard that is none", () => {
    expect(() => loader(1 as never)).toThrow("loader() takes a function");
    expect(() => resolver({ guards: [1 as never] }, () => 1)).toThrow("must be a list of which each item is a guard");
  });
});

describe("the schema in code", () => {
  it("A schema in code has queries, mutations and types, with arguments, guards and dependencies", async () => {
    const app = quietApp();
    app.enableGraphql();
    app.registerSingleton("greeting", "hello");
    const { graphql } = app;
    const Genre = graphql.enum("Genre", ["FICTION", "SCIENCE"]);
    const Author = graphql.type("Author", { id: "ID!", name: "String!" });
    type BookRow = { id: number; title: string; authorId: number; genre: "FICTION" | "SCIENCE" };
    const Book = graphql
      .type<BookRow>("Book")
      .fields({ id: "ID!", title: "String!", genre: Genre.required })
      .field("author", Author.required, ({ authorId }) => ({ id: authorId, name: `author ${authorId}` }))
      .field(
        "shout",
        { type: "String!", args: { times: "Int! = 1" }, deprecated: "too loud" },
        ({ title }, { times }) => title.toUpperCase() + "!".repeat(times),
      );
    const NewBook = graphql.input("NewBook", { title: "String!", genre: Genre });
    const books: BookRow[] = [{ id: 1, title: "Dune", authorId: 7, genre: "FICTION" }];
    graphql
      .query(
        "hello",
        { type: "String!", args: { name: "String" }, inject: { greeting: Depends<string>("greeting") } },
        ({ name }, _context, { greeting }) => `${greeting} ${name ?? "world"}`,
      )
      .query("books", { type: Book.list, args: { genre: Genre } }, ({ genre }) =>
        books.filter((book) => !genre || book.genre === genre),
      )
      .query("secret", { type: "Int", guards: [() => "closed"] }, () => 1)
      .mutation("addBook", { type: Book.required, args: { book: NewBook.required } }, ({ book }) => {
        const added = { id: books.length + 1, title: book.title, authorId: 7, genre: book.genre ?? "FICTION" };
        books.push(added);
        return added;
      });
    expect(
      await dataOf(
        app,
        '{ hello(name: "Ann") books(genre: FICTION) { id title genre shout(times: 2) author { name } } }',
      ),
    ).toEqual({
      hello: "hello Ann",
      books: [{ id: "1", title: "Dune", genre: "FICTION", shout: "DUNE!!", author: { name: "author 7" } }],
    });
    expect(await dataOf(app, 'mutation { addBook(book: { title: "Cosmos", genre: SCIENCE }) { id genre } }')).toEqual({
      addBook: { id: "2", genre: "SCIENCE" },
    });
    expect((await errorsOf(app, "{ secret }"))[0]?.message).toBe("closed");
  });

  it("A schema in code extends the root types of typeDefs, and has the scalars DateTime and BigInt", async () => {
    const app = graphqlApp({ typeDefs: "type Query { a: Int }", resolvers: { Query: { a: () => 1 } } });
    app.graphql.query("now", { type: "DateTime!", args: { at: "DateTime!" } }, ({ at }) => new Date(at.getTime() + 1));
    app.graphql.query("big", { type: "BigInt!", args: { n: "BigInt!" } }, ({ n }) => n + 1n);
    expect(await dataOf(app, '{ a now(at: "2020-01-01T00:00:00Z") big(n: "9007199254740993") }')).toEqual({
      a: 1,
      now: "2020-01-01T00:00:00.001Z",
      big: "9007199254740994",
    });
    expect((await errorsOf(app, '{ now(at: "yesterday") }'))[0]?.message).toContain("DateTime must be ISO 8601");
  });

  it("Mistakes in a schema in code are refused at once, with the name of the field or type", () => {
    const app = quietApp();
    const { graphql } = app;
    expect(() => graphql.query("1st", "Int", () => 1)).toThrow("a field of Query needs a name");
    expect(() => graphql.query("a", "Int }", () => 1)).toThrow('the field Query.a needs a type such as "String!"');
    expect(() => graphql.query("a", "Int", 1 as never)).toThrow("the field Query.a needs a function");
    expect(() => graphql.query("a", { type: "Int", gaurds: [] } as never, () => 1)).toThrow("did you mean 'guards'?");
    graphql.type("Book", { id: "ID!" });
    expect(() => graphql.type("Book", { id: "ID!" })).toThrow("the type Book is defined already");
    expect(() => graphql.enum("E", [])).toThrow("needs a list of values");
  });

  it("A schema in code is refused without enableGraphql() and after the start", async () => {
    const app = quietApp();
    app.graphql.query("a", "Int", () => 1);
    await expect(app.start()).rejects.toThrow("app.enableGraphql() was not called");
    const started = graphqlApp({ typeDefs: "type Query { a: Int }" });
    await started.start();
    expect(() => started.graphql.query("b", "Int", () => 1)).toThrow("comes too late");
  });
});
