import { App, Authenticated, Blueprint, JwtConfig, openDatabase } from "stoa";
import { field, Model } from "stoa/orm";
import { expect, it } from "vitest";
import { z } from "zod";
import { emptyDatabases } from "../engines/db/engines.js";
import { service } from "../support/service.js";

const empty = emptyDatabases(service("postgres"));

/*
 * Mistakes of newcomers, each with the sentence that it gets. The sentence names the cause and the cure. They stand
 * here together so that they can be read one after the other.
 */

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

function quietApp(): App {
  const app = new App();
  app.logger = quiet;
  return app;
}

/** The error of a mistake that is refused when it is made, or at the start. */
async function errorOf(make: (app: App) => unknown): Promise<string> {
  const app = quietApp();
  try {
    make(app);
    await app.start();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

/** The error in the response to `GET /`. */
async function responseErrorOf(make: (app: App) => unknown): Promise<unknown> {
  const app = quietApp();
  make(app);
  const body = (await (await app.request("/")).json()) as { error: string };
  return body.error;
}

// biome-ignore lint/suspicious/noExplicitAny: mistakes are not typed
type Any = any;

it.each<[string, (app: App) => unknown, string]>([
  [
    "a secret that is not set",
    () => new JwtConfig({ secret: undefined } as Any),
    "JwtConfig needs a 'secret', or an 'algorithm' with keys: it got neither. Is the variable that holds it set?",
  ],
  [
    "a database URL that is not set",
    (app) => app.enableDatabase(undefined as Any),
    "enableDatabase needs a DatabaseConfig or a URL, not undefined. Is the variable that holds it set?",
  ],
  [
    "a parameter in the style of Express",
    (app) => app.get("/users/:id", () => 1),
    "':id' in the path '/users/:id' is no parameter here: write {id}",
  ],
  [
    "a wildcard in the style of Express",
    (app) => app.get("/files/*", () => 1),
    "'*' in the path '/files/*' matches nothing here: write {rest:*}",
  ],
  [
    "a schema of parameters that does not fit the path",
    (app) => app.get("/users/{userId}", { params: z.object({ userid: z.string() }) } as Any, () => 1),
    "'params' of GET /users/{userId} needs 'userid', which is no parameter of the path; did you mean 'userId'?",
  ],
  [
    "a legacy decorator",
    (app) => (app.get("/") as Any)({}, "list", {}),
    "stoa takes standard decorators, and this is a legacy one: remove 'experimentalDecorators' from tsconfig.json, " +
      "or register the method with app.get(path, handler)",
  ],
  [
    "listen",
    (app) => (app as Any).listen(3000),
    "the server is started with app.run({ port: 8000 }), not with listen()",
  ],
  [
    "options of the application",
    () => new (App as Any)({ port: 80 }),
    "new App() takes no arguments: give name, port, debug and the like to app.run({ ... })",
  ],
  [
    "a guard in place of a list of guards",
    (app) => app.get("/", { guards: Authenticated() as Any }, () => 1),
    "option 'guards' in the route / must be a list: write [ ] around the value, not an object (Object)",
  ],
  [
    "middleware of a path in the style of Express",
    (app) => app.use("/admin" as Any, (_request, next) => next()),
    'use() takes no path: give the middleware to new Blueprint("/admin", { middleware: [...] }), or to routes as an option',
  ],
  [
    "a router in the style of Express",
    (app) => app.use(new Blueprint("/admin") as Any),
    "use() takes middleware: add a blueprint with registerBlueprint()",
  ],
  [
    "middleware of Express",
    (app) =>
      app.use(function cors(_req: Any, _res: Any, next: Any) {
        next();
      } as Any),
    "the middleware 'cors' has the parameters (req, res, next), and it is called with (request, next): write it in this form, " +
      "or look for the feature that does the same, such as enableCors()",
  ],
  [
    "middleware of Express in the options of a route",
    (app) => app.get("/", { middleware: [(_req: Any, _res: Any, next: Any) => next()] as Any }, () => 1),
    "a middleware has the parameters (req, res, next), and it is called with (request, next): write it in this form, " +
      "or look for the feature that does the same, such as enableCors()",
  ],
  [
    "middleware for errors in the style of Express",
    (app) => app.use(((_err: Any, _req: Any, _res: Any, _next: Any) => {}) as Any),
    "a middleware has the parameters (err, req, res, next): " +
      "errors are handled by app.exceptionHandler(Error, (request, error) => ...)",
  ],
  [
    "middleware before the handler in the style of Express",
    (app) =>
      (app as Any).get(
        "/",
        (_request: Any, next: Any) => next(),
        () => 1,
      ),
    "the route / takes one function: give middleware as an option, { middleware: [...] }, before the handler",
  ],
  [
    "an exception handler without a class",
    (app) => app.exceptionHandler(((_request: Any, error: Any) => error.message) as Any),
    "exceptionHandler takes a class of errors first: app.exceptionHandler(Error, (request, error) => ...)",
  ],
  [
    "a broken escape in a path",
    (app) => app.get("/100%", () => 1),
    "'100%' in the path '/100%' has a percent escape that is not valid",
  ],
])("A newcomer's mistake gets a sentence with cause and cure: %s", async (_mistake, make, message) => {
  expect(await errorOf(make)).toBe(message);
});

it.each<[string, (app: App) => unknown, string]>([
  [
    "a guard that was not made",
    (app) => app.get("/", { guards: [Authenticated as Any] }, () => 1),
    "Handler error: ValueError: 'Authenticated' makes a guard and is not one itself: " +
      "write Authenticated() in the list of guards",
  ],
  [
    "a guard that returns an object",
    (app) =>
      app.get(
        "/",
        {
          guards: [
            function user() {
              return { id: 1 };
            } as Any,
          ],
        },
        () => 1,
      ),
    "Handler error: ValueError: the guard 'user' returned an object (Object): " +
      "return true to let the request pass, or false or a message to reject it",
  ],
  [
    "a handler in the style of Express",
    (app) => app.get("/", ((_req: Any, res: Any) => res.json({})) as Any),
    "Handler error: TypeError: a handler is called with (request, injected), not with (req, res): " +
      "return a value or a Response in place of sending it",
  ],
  [
    "a handler in the style of Fastify",
    (app) => app.get("/", ((_request: Any, reply: Any) => reply.code(404)) as Any),
    "Handler error: TypeError: a handler is called with (request, injected), not with (req, res): " +
      "return a value or a Response in place of sending it",
  ],
  [
    "the body in the style of Express",
    (app) => app.get("/", (request) => (request as Any).body.title),
    "Handler error: TypeError: a request has no 'body': read it with request.json(), or give the route a schema, " +
      "{ body: ... }, and take it from the handler's second argument",
  ],
  [
    "a middleware that returns the request",
    (app) => app.use((request) => request).get("/", () => 1),
    "Handler error: ValueError: a middleware returned the request: write 'return next()' to continue, or return a response",
  ],
  [
    "a middleware that does not call next",
    (app) => app.use((_request, next) => next).get("/", () => 1),
    "Handler error: ValueError: a middleware returned 'next' without calling it: " +
      "write 'return next()' to continue, or return a response",
  ],
])("A newcomer's mistake in a request gets a sentence with cause and cure: %s", async (_mistake, make, message) => {
  expect(await responseErrorOf(make)).toBe(message);
});

it("A browser that asks for a path without a route gets the list of routes in development", async () => {
  const app = new App();
  app.get("/books/{id}", { summary: "One <book>" }, () => 1);
  app.enableHealthChecks().enableMetrics().enableOpenapi();
  const html = { headers: { accept: "text/html" } };
  const response = await app.request("/nothing/<script>", html);
  expect(response.status).toBe(404);
  expect(response.headers.get("content-type")).toContain("text/html");
  expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  const page = await response.text();
  expect(page).toContain("/books/{id} <em>One &lt;book&gt;</em>");
  expect(page).not.toContain("<script>");
  for (const path of ["/health", "/metrics", "/docs", "/openapi.json"]) expect(page).not.toContain(path);
  expect((await app.request("/nothing")).headers.get("content-type")).toBe("application/problem+json");
});

it("Paths with a space or an escaped slash can be registered and matched", async () => {
  const app = new App();
  app.get("/two words", () => "space");
  app.get("/a%2Fb/{id}", (request) => request.params.id);
  app.get("/a/b", () => "slash");
  expect(() => app.get("/two%20words", () => "")).toThrow("collides");
  const text = async (path: string) => (await app.request(path)).text();
  expect(await text("/two%20words")).toBe("space");
  expect(await text("/a%2Fb/5")).toBe("5");
  expect(await text("/a/b")).toBe("slash");
});

it("A missing table of a model gets a sentence with the commands that make it", async () => {
  const db = await openDatabase(await empty());
  try {
    class Note extends Model("notes", { id: field.auto(), text: field.text() }) {}
    const cure = "; the database does not fit the models: run stoa migrate make, then stoa migrate up";
    const notes = Note.objects.using(db);
    await expect(notes.all()).rejects.toThrow(`relation "notes" does not exist${cure}`);
    await expect(notes.create({ text: "x" })).rejects.toThrow(`relation "notes" does not exist${cure}`);
  } finally {
    await db.close();
  }
});
