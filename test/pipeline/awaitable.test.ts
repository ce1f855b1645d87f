import { App, BasicAuth } from "stoa";
import { describe, expect, it } from "vitest";
import { z } from "zod";

/** A `then` that takes callbacks and returns nothing. */
function callback(value: unknown): Promise<never> {
  // biome-ignore lint/suspicious/noThenProperty: this is the object under test
  return { then: (resolve: (value: unknown) => void) => void setImmediate(resolve, value) } as never;
}

/** A promise of another library or realm: complete, but no instance of Promise. */
function foreign(value: unknown): Promise<never> {
  const inner = Promise.resolve(value);
  const then: typeof inner.then = (...given) => foreign(inner.then(...given)) as never;
  return { then, catch: (failed: never) => then(undefined, failed) } as never;
}

const kinds = [
  ["a promise", (value: unknown) => Promise.resolve(value) as Promise<never>],
  ["a promise of another library", foreign],
  ["an object whose then returns nothing", callback],
] as const;

async function textOf(app: App, init?: RequestInit): Promise<string> {
  const response = await app.request("/", init);
  return `${response.status} ${response.headers.get("access-control-allow-origin")} ${await response.text()}`;
}

/** CORS changes the response on its way out, so it must be a response by then. */
function corsApp(): App {
  const app = new App();
  app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
  return app.enableCors();
}

describe.each(kinds)("%s", (_name, later) => {
  it("An awaitable that a handler returns is awaited", async () => {
    expect(await textOf(corsApp().get("/", () => later("done")))).toBe("200 * done");
    const checked = corsApp().get("/", { response: z.object({ a: z.number() }) }, () => later({ a: 1, b: 2 }));
    expect(await textOf(checked)).toBe('200 * {"a":1}');
  });

  it("An awaitable that middleware returns is awaited", async () => {
    const handler = (): string => "handler";
    expect(
      await textOf(
        corsApp()
          .use({ before: () => later("before") })
          .get("/", handler),
      ),
    ).toBe("200 * before");
    expect(
      await textOf(
        corsApp()
          .use({ after: () => later("after") })
          .get("/", handler),
      ),
    ).toBe("200 * after");
    expect(
      await textOf(
        corsApp()
          .use(() => later("around"))
          .get("/", handler),
      ),
    ).toBe("200 * around");
  });

  it("An awaitable that an exception handler returns is awaited", async () => {
    const app = corsApp().exceptionHandler(RangeError, () => later("handled"));
    app.get("/", () => {
      throw new RangeError("too far");
    });
    expect(await textOf(app)).toBe("500 * handled");
  });

  it("An awaitable that a guard or a password check returns is awaited", async () => {
    const guarded = (verdict: boolean): App => corsApp().get("/", { guards: [() => later(verdict)] }, () => "in");
    expect(await textOf(guarded(true))).toBe("200 * in");
    expect(await textOf(guarded(false))).toMatch(/^403 /);
    const headers = { authorization: `Basic ${btoa("ann:secret")}` };
    const basic = (verdict: boolean): App =>
      corsApp()
        .use(new BasicAuth(() => later(verdict)))
        .get("/", () => "in");
    expect(await textOf(basic(true), { headers })).toBe("200 * in");
    expect(await textOf(basic(false), { headers })).toMatch(/^401 /);
  });

  it("An awaitable that is the key of a rate limit is awaited", async () => {
    const app = corsApp().get("/", { rateLimit: { maxRequests: 1, key: () => later("ann") } as never }, () => "in");
    expect(await textOf(app)).toBe("200 * in");
    expect(await textOf(app)).toMatch(/^429 /);
  });
});

it("A result whose then() throws is a 500 response", async () => {
  const then = (): never => {
    throw new Error("no then");
  };
  const response = await corsApp()
    .get("/", () => ({ then }))
    .request("/");
  expect(response.status).toBe(500);
});
