import { App, Depends } from "stoa";
import { describe, expect, it } from "vitest";

describe("dependencies", () => {
  it("Dependencies are injected by name, and singletons are shared", async () => {
    const app = new App();
    const mailer = { sent: 0 };
    app.register_singleton("mail", mailer);
    app.get("/", { inject: { mail: Depends<typeof mailer>("mail") } }, (_request, { mail }) => ++mail.sent);
    expect(await (await app.request("/")).json()).toBe(1);
    expect(await (await app.request("/")).json()).toBe(2);
  });

  it("A scoped dependency is made once per request, and a transient one each time", async () => {
    const app = new App();
    let made = 0;
    app.registerScoped("scoped", () => ({ id: ++made }));
    app.registerTransient("transient", () => ({ id: ++made }));
    app.registerTransient("uses", { inject: { s: Depends<{ id: number }>("scoped") } }, (_request, { s }) => s.id);
    const inject = {
      a: Depends<{ id: number }>("scoped"),
      b: Depends<{ id: number }>("scoped"),
      c: Depends<{ id: number }>("transient"),
      d: Depends<{ id: number }>("transient"),
      e: Depends<number>("uses"),
    };
    app.get("/", { inject }, (_request, { a, b, c, d, e }) => [a === b, c === d, a.id === e]);
    expect(await (await app.request("/")).json()).toEqual([true, false, true]);
    const before = made;
    await app.request("/");
    expect(made).toBe(before + 3);
  });

  it("A dependency can be made asynchronously and from the request", async () => {
    const app = new App();
    app.registerScoped("tenant", async (request) => request.headers.get("x-tenant"));
    app.registerScoped(
      "greeting",
      { inject: { tenant: Depends<string>("tenant") } },
      (_request, { tenant }) => `hi ${tenant}`,
    );
    app.get("/", { inject: { greeting: Depends<string>("greeting") } }, (_request, { greeting }) => greeting);
    expect(await (await app.request("/", { headers: { "x-tenant": "acme" } })).text()).toBe("hi acme");
  });

  it("A dependency can be made by a promise of another library, and a query that runs when awaited is injected as it is", async () => {
    const disposed: unknown[] = [];
    const foreign = (value: unknown): unknown => {
      const own = Promise.resolve(value);
      // biome-ignore lint/suspicious/noThenProperty: a promise of another library.
      return { then: own.then.bind(own), catch: own.catch.bind(own) };
    };
    let runs = 0;
    // biome-ignore lint/suspicious/noThenProperty: a query that runs when it is awaited.
    const query = { then: (done: (rows: string[]) => void) => done([`run ${++runs}`]) };
    const app = new App()
      .registerScoped("name", { dispose: (value: never) => void disposed.push(value) }, () => foreign("ada"))
      .registerScoped("query", () => query);
    app.get("/", { inject: { name: Depends<string>("name"), query: Depends<object>("query") } }, (_, injected) => ({
      name: injected.name,
      same: injected.query === query,
    }));
    expect(await (await app.request("/")).json()).toEqual({ name: "ada", same: true });
    await expect.poll(() => disposed).toEqual(["ada"]);
    expect(runs).toBe(0);
  });

  it("Dependencies are disposed after the response, by dispose or by their own method", async () => {
    const app = new App();
    const gone: string[] = [];
    app.registerScoped("one", { dispose: (value: string) => void gone.push(value) }, () => "one");
    app.registerScoped("two", () => ({ [Symbol.dispose]: () => void gone.push("two") }));
    app.registerScoped("three", async () => ({ [Symbol.asyncDispose]: async () => void gone.push("three") }));
    const inject = { one: Depends("one"), two: Depends("two"), three: Depends("three") };
    app.get("/", { inject }, () => gone.length);
    expect(await (await app.request("/")).json()).toBe(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(gone.sort()).toEqual(["one", "three", "two"]);
  });

  it("A dependency whose factory fails is an error of the request", async () => {
    const app = new App();
    app.logger = { ...app.logger, error() {} };
    app.registerScoped("broken", () => Promise.reject(new Error("no connection")));
    app.get("/", { inject: { broken: Depends("broken") } }, () => "unreachable");
    const response = await app.request("/");
    expect(response.status).toBe(500);
    expect(((await response.json()) as { error: string }).error).toBe("Async handler error: Error: no connection");
  });

  it("An unknown dependency stops the start, with the chain and a suggestion", async () => {
    const app = new App();
    app.registerSingleton("mailer", 1);
    app.get("/", { inject: { mail: Depends("mailr") } }, () => "");
    await expect(app.start()).rejects.toThrow("unknown dependency 'mailr' (GET / -> mailr); did you mean 'mailer'?");
  });

  it("Dependencies that need each other stop the start, with the chain", async () => {
    const app = new App();
    app.registerScoped("a", { inject: { b: Depends("b") } }, () => 1);
    app.registerScoped("b", { inject: { c: Depends("c") } }, () => 1);
    app.registerScoped("c", { inject: { a: Depends("a") } }, () => 1);
    await expect(app.start()).rejects.toThrow("the dependency 'a' needs itself: a -> b -> c -> a");
  });

  it("A test can override a dependency, and restore it", async () => {
    const app = new App();
    app.registerSingleton("clock", "real");
    app.get("/", { inject: { clock: Depends<string>("clock") } }, (_request, { clock }) => clock);
    expect(await (await app.request("/")).text()).toBe("real");
    const restore = app.override("clock", "fake");
    expect(await (await app.request("/")).text()).toBe("fake");
    restore();
    expect(await (await app.request("/")).text()).toBe("real");
    expect(() => app.override("clok", 1)).toThrow("unknown dependency 'clok'; did you mean 'clock'?");
  });

  it("Other dependencies are unchanged while a test overrides one", async () => {
    const app = new App();
    app.registerSingleton("clock", "real");
    app.registerSingleton("mailer", "real");
    const inject = { clock: Depends<string>("clock"), mailer: Depends<string>("mailer") };
    app.get("/", { inject }, (_request, { clock, mailer }) => ({ clock, mailer }));
    app.override("clock", "fake");
    expect(await (await app.request("/")).json()).toEqual({ clock: "fake", mailer: "real" });
  });

  it("A dependency with a repeated or empty name, or an invalid factory, is refused", () => {
    const app = new App();
    app.registerSingleton("a", 1);
    expect(() => app.registerScoped("a", () => 1)).toThrow("the dependency 'a' is registered already");
    expect(() => app.registerSingleton("", 1)).toThrow("needs a name");
    expect(() => app.registerScoped("b", 5 as never)).toThrow("needs a function that makes it, not 5");
    for (const call of ["registerScoped", "registerTransient"] as const) {
      expect(() => app[call]("c", { disposed: () => {} } as never, () => 1)).toThrow(
        `unknown option 'disposed' in ${call}(); did you mean 'dispose'?`,
      );
    }
  });

  it("The options of a dependency come before its function, and the other order is refused", async () => {
    const app = new App();
    for (const call of ["registerScoped", "registerTransient"] as const) {
      const swapped = app[call] as unknown as (name: string, ...given: unknown[]) => void;
      for (const second of [{ dispose() {} }, {}, () => 8]) {
        expect(() => swapped.call(app, call, () => 7, second)).toThrow(
          `${call}() takes the options before the function: ${call}("${call}", { ... }, factory)`,
        );
      }
      expect(() => swapped.call(app, call, 5, () => 7)).toThrow(
        `${call}() takes an object of options, not 5; its options are inject, dispose`,
      );
      expect(() => swapped.call(app, call, { dispose() {} })).toThrow("needs a function that makes it, not undefined");
      swapped.call(app, `${call} null`, null, () => 7);
      swapped.call(app, `${call} undefined`, () => 8, undefined);
    }
    const inject = { one: Depends<number>("registerScoped null"), two: Depends<number>("registerTransient undefined") };
    app.get("/", { inject }, (_request, { one, two }) => [one, two]);
    expect(await (await app.request("/")).json()).toEqual([7, 8]);
  });

  it.each<[inject: unknown, message: string]>([
    [["q"], `option 'inject' in registerScoped() must be an object such as { mail: Depends("mail") }, not ["q"]`],
    [
      new Map([["q", Depends("q")]]),
      `option 'inject' in registerScoped() must be an object such as { mail: Depends("mail") }, not an object (Map)`,
    ],
    ["q", `option 'inject' in registerScoped() must be an object such as { mail: Depends("mail") }, not "q"`],
    [{ q: "q" }, `inject.q of the dependency 'v' must be Depends("name"), not "q"`],
    [{ q: null }, `inject.q of the dependency 'v' must be Depends("name"), not null`],
    [
      { q: Depends(undefined as never) },
      `inject.q of the dependency 'v' must be Depends("name"), not an object (Object)`,
    ],
  ])("A dependency with inject: %j is refused where it is registered", (inject, message) => {
    const app = new App().registerSingleton("q", 1);
    expect(() => app.registerScoped("v", { inject: inject as never }, () => 7)).toThrow(message);
  });

  it("A route whose inject is a list or a map is refused where it is declared", () => {
    for (const [inject, shown] of [
      [[Depends("q")], "[an object (Object)]"],
      [new Map([["q", Depends("q")]]), "an object (Map)"],
    ] as const) {
      const app = new App().registerSingleton("q", 1);
      expect(() => app.get("/", { inject: inject as never }, () => "")).toThrow(
        `option 'inject' in the route / must be an object such as { mail: Depends("mail") }, not ${shown}`,
      );
    }
  });

  it("An injection without Depends is refused at the start", async () => {
    const app = new App();
    app.get("/", { inject: { mail: "mail" as never } }, () => "");
    await expect(app.start()).rejects.toThrow(`inject.mail of GET / must be Depends("name"), not "mail"`);
  });
});
