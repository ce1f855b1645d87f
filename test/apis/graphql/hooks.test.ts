import { GraphQLError, NoDeprecatedCustomRule } from "graphql";
import { createClient as createSseClient } from "graphql-sse";
import { createClient } from "graphql-ws";
import { ForbiddenError, type GraphqlOptions } from "stoa";
import { type GraphqlHooks, GraphqlResult } from "stoa/graphql";
import { serve } from "stoa/testing";
import { afterEach, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { dataOf, errorsOf, graphqlApp, post } from "./support.js";

const typeDefs = `
  type Query { hello: String old: String @deprecated(reason: "gone") book: Book strict: Strict slow: String }
  type Mutation { add(n: Int!): Int }
  type Subscription { count(to: Int!): Int }
  type Book { title: String pages: Int }
  type Strict { first: String! second: String }
`;

async function* count(_parent: unknown, { to }: { to: number }) {
  for (let i = 1; i <= to; i++) yield { count: i };
}

const resolvers = {
  Query: { hello: () => "hello", old: () => "old", book: () => ({ title: "Dune", pages: 412 }) },
  Mutation: { add: (_parent: unknown, { n }: { n: number }) => n + 1 },
  Subscription: { count: { subscribe: count } },
};

const hookedApp = (hooks: GraphqlOptions["hooks"], more: GraphqlOptions = {}) =>
  graphqlApp({ typeDefs, resolvers, hooks: hooks ?? [], ...more });

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function all<T>(results: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const result of results) list.push(result);
  return list;
}

describe("hooks around parse and validate", () => {
  it("They run once for a document that is kept, the first of a list outermost", async () => {
    const log: string[] = [];
    const named = (name: string): GraphqlHooks => ({
      parse(text, next) {
        log.push(`${name} parses`);
        return next(text);
      },
      validate(_document, next) {
        log.push(`${name} validates`);
        return next();
      },
    });
    const app = hookedApp([named("outer"), named("inner")]);
    for (let i = 0; i < 2; i++) expect(await dataOf(app, "{ hello }")).toEqual({ hello: "hello" });
    expect(log).toEqual(["outer parses", "inner parses", "outer validates", "inner validates"]);
  });

  it("A hook changes the text, and adds rules of graphql", async () => {
    const app = hookedApp([
      { validate: (_document, next) => next([NoDeprecatedCustomRule]) },
      { parse: (text, next) => next(text.replace("greeting", "hello")) },
    ]);
    expect(await dataOf(app, "{ greeting }")).toEqual({ hello: "hello" });
    expect((await post(app, { query: "{ old }" })).status).toBe(400);
    expect((await errorsOf(app, "{ old }"))[0]?.message).toContain("deprecated");
  });

  it("Limits hold for the document that a hook returns", async () => {
    const app = hookedApp({ parse: (_text, next) => next("{ a: hello b: hello }") }, { limits: { aliases: 1 } });
    expect((await errorsOf(app, "{ hello }"))[0]?.extensions?.["limit"]).toBe("aliases");
  });

  it.each<[string, GraphqlHooks, string]>([
    [
      "an error for clients",
      {
        parse: () => {
          throw new GraphQLError("no");
        },
      },
      "no",
    ],
    [
      "an error of HTTP",
      {
        validate: () => {
          throw new ForbiddenError("not you");
        },
      },
      "not you",
    ],
    [
      "any other error",
      {
        validate: () => {
          throw new Error("secret");
        },
      },
      "Internal Server Error",
    ],
    [
      "a promise",
      {
        parse: (async () => {
          throw new Error("secret");
        }) as never,
      },
      "Internal Server Error",
    ],
    ["no list of errors", { validate: () => undefined as never }, "Internal Server Error"],
  ])("A hook that gives %s refuses the operation", async (_what, hooks, message) => {
    const app = hookedApp(hooks, { maskErrors: true });
    const { status, body } = await post(app, { query: "{ hello }" });
    expect([status, body.errors?.[0]?.message]).toEqual([400, message]);
    expect(app.logged.lines.length).toBe(message.startsWith("Internal") ? 1 : 0);
  });

  it("A document with a mistake is the same error with hooks that pass it on", async () => {
    const hooks: GraphqlHooks = { parse: (text, next) => next(text), validate: (_document, next) => next() };
    for (const query of ["{", "{ nothing }"]) {
      expect(await errorsOf(hookedApp(hooks), query)).toEqual(await errorsOf(hookedApp([]), query));
    }
  });
});

describe("hooks around execute", () => {
  const noting: GraphqlHooks = {
    async execute({ type, name, variables }, next) {
      const result = await next();
      result.extensions["seen"] = { type, name, variables };
      return result;
    },
  };

  it("A hook sees the operation, and adds extensions to the response", async () => {
    const app = hookedApp(noting);
    const { body } = await post(app, { query: "mutation Add($n: Int! = 4) { add(n: $n) }" });
    expect(body).toEqual({
      data: { add: 5 },
      extensions: { seen: { type: "mutation", name: "Add", variables: { n: 4 } } },
    });
  });

  it("It runs for operations of a WebSocket and for each event, over both protocols", async () => {
    const server = await serve(hookedApp(noting));
    opened.push(() => server.close());
    const socket = createClient({ url: `${server.url.replace("http", "ws")}/graphql`, webSocketImpl: WebSocket });
    opened.push(() => socket.dispose());
    const events = createSseClient({ url: `${server.url}/graphql` });
    opened.push(() => events.dispose());
    const seen = (type: string) => ({ seen: { type, name: null, variables: {} } });
    expect(await all(socket.iterate({ query: "{ hello }" }))).toEqual([
      { data: { hello: "hello" }, extensions: seen("query") },
    ]);
    for (const client of [socket, events]) {
      expect(await all(client.iterate({ query: "subscription { count(to: 2) }" }))).toEqual([
        { data: { count: 1 }, extensions: seen("subscription") },
        { data: { count: 2 }, extensions: seen("subscription") },
      ]);
    }
  });

  it("A hook replaces data and errors, or gives a result without executing", async () => {
    let executed = 0;
    const app = hookedApp(
      [
        {
          async execute({ name }, next) {
            if (name === "Cached") return new GraphqlResult({ data: { hello: "cached" } });
            const result = await next();
            if (name === "Changed") result.data = { ...(result.data as object), more: 1 };
            if (name === "Failed") result.errors = [new GraphQLError("late")];
            return result;
          },
        },
      ],
      { resolvers: { Query: { hello: () => `hello ${++executed}` } } },
    );
    expect((await post(app, { query: "query Cached { hello }" })).body).toEqual({ data: { hello: "cached" } });
    expect(executed).toBe(0);
    expect((await post(app, { query: "query Changed { hello }" })).body).toEqual({
      data: { hello: "hello 1", more: 1 },
    });
    const { body } = await post(app, { query: "query Failed { hello }" });
    expect([body.data, body.errors?.[0]?.message]).toEqual([{ hello: "hello 2" }, "late"]);
  });

  it.each<[string, GraphqlHooks["execute"] & object, string]>([
    [
      "throws at once",
      () => {
        throw new ForbiddenError("closed");
      },
      "closed",
    ],
    [
      "throws after the execution",
      async (_operation, next) => {
        await next();
        throw new Error("secret");
      },
      "Internal Server Error",
    ],
    [
      "does not wait for one that fails",
      (_operation, next) => {
        void next();
        throw new GraphQLError("no");
      },
      "no",
    ],
    ["throws an object without a text", () => Promise.reject(Object.create(null)), "Internal Server Error"],
    [
      "throws an error that nobody can read",
      () =>
        Promise.reject(
          new Proxy(new Error("secret"), {
            get() {
              throw new Error("trap");
            },
          }),
        ),
      "Internal Server Error",
    ],
    ["returns something else", () => ({ data: 1 }) as never, "Internal Server Error"],
  ])("A hook that %s is an error of the operation", async (_what, execute, message) => {
    const failing: GraphqlHooks = { execute: async () => Promise.reject(new Error("inner")) };
    const app = hookedApp(message === "no" ? [{ execute }, failing] : { execute }, { maskErrors: true });
    const { status, body } = await post(app, { query: "{ hello }" });
    expect([status, body.data, body.errors?.[0]?.message]).toEqual([200, null, message]);
    expect(await dataOf(hookedApp([]), "{ hello }")).toEqual({ hello: "hello" });
  });

  it("Resolvers of an execution that a hook did not wait for are aborted, and scoped values outlive them", async () => {
    let aborted = false;
    let end = (): void => {};
    const disposed: string[] = [];
    const app = hookedApp(
      {
        execute(_operation, next) {
          void next();
          throw new GraphQLError("no");
        },
      },
      {
        resolvers: {
          Query: {
            slow: (_parent, _args, { signal, request }) => {
              request.onFinish(() => void disposed.push("finished"));
              signal.addEventListener("abort", () => (aborted = true));
              return new Promise<string>((resolve) => (end = () => resolve("late")));
            },
          },
        },
      },
    );
    const server = await serve(app);
    opened.push(() => server.close());
    const response = await fetch(`${server.url}/graphql?query={slow}`);
    expect(await response.json()).toMatchObject({ errors: [{ message: "no" }] });
    expect([aborted, disposed]).toEqual([true, []]);
    end();
    await expect.poll(() => disposed).toEqual(["finished"]);
  });
});

describe("hooks around subscribe", () => {
  it("A hook refuses a subscription before its source, or changes its events", async () => {
    let sources = 0;
    const app = hookedApp(
      {
        async *subscribe({ name }, next) {
          if (name === "Closed") throw new ForbiddenError("not you");
          for await (const { count } of (await next()) as AsyncIterable<{ count: number }>) yield { count: count * 10 };
        },
      },
      {
        resolvers: {
          Subscription: {
            count: {
              subscribe(parent, args) {
                sources++;
                return count(parent, args);
              },
            },
          },
        },
      },
    );
    const server = await serve(app);
    opened.push(() => server.close());
    const events = createSseClient({ url: `${server.url}/graphql` });
    opened.push(() => events.dispose());
    expect(await all(events.iterate({ query: "subscription { count(to: 2) }" }))).toEqual([
      { data: { count: 10 } },
      { data: { count: 20 } },
    ]);
    const closed = await all(events.iterate({ query: "subscription Closed { count(to: 2) }" }));
    expect(closed[0]?.errors?.[0]).toMatchObject({ message: "not you", extensions: { status: 403 } });
    expect(sources).toBe(1);
  });

  it("The end of a subscription ends a source that the generator of a hook waits for", async () => {
    let ended = 0;
    let asked = 0;
    const source = {
      [Symbol.asyncIterator]: () => source,
      next() {
        asked++;
        return new Promise<IteratorResult<unknown>>(() => {});
      },
      return: async () => ({ done: true as const, value: void ended++ }),
    };
    const app = hookedApp(
      {
        async *subscribe(_operation, next) {
          yield { count: 1 };
          yield* await next();
        },
      },
      { resolvers: { Subscription: { count: { subscribe: () => source } } } },
    );
    const server = await serve(app);
    opened.push(() => server.close());
    const socket = createClient({ url: `${server.url.replace("http", "ws")}/graphql`, webSocketImpl: WebSocket });
    opened.push(() => socket.dispose());
    const events = socket.iterate({ query: "subscription { count(to: 1) }" });
    expect((await events.next()).value).toEqual({ data: { count: 1 } });
    const waiting = events.next();
    await expect.poll(() => asked).toBe(1);
    await events.return?.();
    await waiting;
    await expect.poll(() => ended).toBeGreaterThan(0);
  });

  it("A source that comes after the hook has refused the subscription is ended", async () => {
    let ended = 0;
    let begin = (): void => {};
    const source = {
      [Symbol.asyncIterator]: () => source,
      next: () => new Promise<IteratorResult<unknown>>(() => {}),
      return: async () => ({ done: true as const, value: void ended++ }),
    };
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const app = hookedApp(
      {
        subscribe(_operation, next) {
          void next();
          throw new ForbiddenError("not you");
        },
      },
      { resolvers: { Subscription: { count: { subscribe: () => begun.then(() => source) } } } },
    );
    const server = await serve(app);
    opened.push(() => server.close());
    const events = createSseClient({ url: `${server.url}/graphql` });
    opened.push(() => events.dispose());
    const refused = await all(events.iterate({ query: "subscription { count(to: 1) }" }));
    expect([refused[0]?.errors?.[0]?.message, ended]).toEqual(["not you", 0]);
    begin();
    await expect.poll(() => ended).toBe(1);
  });
});

describe("hooks around resolvers", () => {
  it("They are compiled into the fields that they choose, and see parent, arguments and value", async () => {
    const seen: unknown[] = [];
    const app = hookedApp({
      resolve({ type, name, hasResolver }) {
        if (type === "Mutation") {
          return ({ args }, next) => {
            args["n"] = (args["n"] as number) * 2;
            return next();
          };
        }
        if (hasResolver || name !== "title") return undefined;
        return ({ parent, info }, next) => {
          seen.push([parent.title, info.fieldName]);
          return `${next()}!`;
        };
      },
    });
    expect(await dataOf(app, "{ book { title pages } }")).toEqual({ book: { title: "Dune!", pages: 412 } });
    expect(await dataOf(app, "mutation { add(n: 4) }")).toEqual({ add: 9 });
    expect(seen).toEqual([["Dune", "title"]]);
  });

  it("An error of a hook is one of its field, and a promise that it leaves behind ends no process", async () => {
    const app = hookedApp(
      {
        resolve: ({ type }) =>
          type === "Query"
            ? (_call, next) => {
                void next();
                throw new ForbiddenError("closed");
              }
            : null,
      },
      { resolvers: { Query: { hello: () => Promise.reject(new Error("left")), old: () => "old" } } },
    );
    const { body } = await post(app, { query: "{ hello __typename }" });
    expect(body).toMatchObject({
      data: { hello: null, __typename: "Query" },
      errors: [{ message: "closed", path: ["hello"] }],
    });
  });

  it("Promises of properties with a hook are taken when an error ends their object", async () => {
    const app = hookedApp(
      { resolve: ({ name }) => (name === "second" ? (_call, next) => next() : null) },
      {
        resolvers: {
          Query: { strict: () => ({ first: null, second: Promise.reject(new Error("left")) }) },
        },
      },
    );
    expect((await post(app, { query: "{ strict { first second } }" })).body.data).toEqual({ strict: null });
  });

  it("A schema that is given to two applications keeps its own resolvers", async () => {
    const { buildSchema } = await import("graphql");
    const schema = buildSchema("type Query { a: Int }");
    schema.getQueryType()!.getFields()["a"]!.resolve = () => 1;
    const hooked = graphqlApp({ schema, hooks: { resolve: () => () => 2 } });
    expect(await dataOf(hooked, "{ a }")).toEqual({ a: 2 });
    expect(await dataOf(graphqlApp({ schema }), "{ a }")).toEqual({ a: 1 });
  });

  it.each<[unknown, string]>([
    [{ parse: 1 }, "parse"],
    [{ before: () => {} }, "before"],
    [[{ execute: "x" }], "execute"],
    ["all", "hooks"],
  ])("Hooks %j are refused", (hooks, name) => {
    expect(() => hookedApp(hooks as never)).toThrow(name);
  });

  it("A choice that is no function ends the start", async () => {
    await expect(dataOf(hookedApp({ resolve: () => 1 as never }), "{ hello }")).rejects.toThrow("Query.hello");
  });
});
