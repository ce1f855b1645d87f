import { once } from "node:events";
import { connect as connectTo, createServer, type Socket } from "node:net";
import { App } from "stoa";
import { config, engine, feature, is, option, perHost } from "stoa/feature";
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { freePort } from "../../scripts/services/ports.mjs";
import { contract } from "../../src/feature/feature.js";

interface Greeting {
  /** Greets somebody. */
  greet(name: string): string;
}

const wordOf = perHost(() => ({ word: "Hello" }));

const greeting = feature<Greeting, [word?: string]>({
  name: "greeting",
  install(host, word) {
    if (word !== undefined) wordOf(host).word = word;
    return { name: "greeting", before: (request) => void (request.context["greeted"] = true) };
  },
  methods: { greet: (host, name) => `${wordOf(host).word}, ${name}` },
  requestMembers: { greeting: (host) => wordOf(host).word },
});

class LineConfig extends config(
  "LineConfig",
  { port: option.required(is.integer(1, 65_535)), timeout: option.duration("2s") },
  { order: ["port"] },
) {}

/** A client of a server that answers each line with the same line. */
class LineClient {
  constructor(readonly socket: Socket) {}

  async ask(line: string): Promise<string> {
    this.socket.write(`${line}\n`);
    const [data] = (await once(this.socket, "data")) as [Buffer];
    return data.toString().trim();
  }
}

const makeLines = (required: boolean) =>
  engine({
    name: "lines",
    config: LineConfig,
    required,
    async open({ port, timeout }) {
      const socket = connectTo({ port, timeout: timeout * 1000 });
      await once(socket, "connect");
      return new LineClient(socket);
    },
    ping: (client) => client.ask("ping"),
    close: (client) => client.socket.destroy(),
  });
const lines = makeLines(true);

declare module "stoa/feature" {
  interface RequestMembers {
    readonly greeting: string;
    readonly lines: LineClient;
  }
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A real server for the engine. */
async function lineServer(chosen?: number): Promise<number> {
  const port = chosen ?? (await freePort());
  const server = createServer((socket) => void socket.on("error", () => {}).pipe(socket));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return port;
}

describe("installing a feature", () => {
  it("An installed feature adds typed members, its middleware, and members of requests", async () => {
    const app = new App().install(greeting, "Hi");
    ends.push(() => app.stop());
    expect(app.greet("Ada")).toBe("Hi, Ada");
    expectTypeOf(app.greet).toEqualTypeOf<(name: string) => string>();
    app.get("/", (request) => ({ word: request.greeting, greeted: request.context["greeted"] }));
    expect(await (await app.request("/")).json()).toEqual({ word: "Hi", greeted: true });
    const other = new App().install(greeting);
    expect(other.greet("Ada")).toBe("Hello, Ada");
  });

  it("A feature is installed for one application, not for all", () => {
    new App().install(greeting);
    expect("greet" in new App()).toBe(false);
  });

  it("A feature that is installed twice is refused", () => {
    expect(() => new App().install(greeting).install(greeting)).toThrow("the feature greeting is installed already");
  });

  it.each([
    [
      "a member of the application",
      feature<{ enableCors(): string }>({ name: "x", methods: { enableCors: () => "" } }),
      "app.enableCors",
    ],
    ["a member of another feature", feature<Greeting>({ name: "y", methods: { greet: () => "" } }), "app.greet"],
    ["a member of requests", feature<object>({ name: "z", requestMembers: { path: () => "" } }), "request.path"],
    ["one of a feature", feature<object>({ name: "s", requestMembers: { session: () => "" } }), "request.session"],
    [
      "an option of routes",
      feature<object>({ name: "o", routeOptions: { timeout: { check: is.string } } }),
      "the route option timeout",
    ],
    [
      "an option that a feature adds to routes",
      feature<object>({ name: "f", routeOptions: { cache: { check: is.string } } }),
      "the route option cache",
    ],
  ])("A feature whose name is taken by %s is refused", (_, clashing, member) => {
    const app = new App().install(greeting);
    expect(() => app.install(clashing as typeof greeting)).toThrow(`cannot add ${member}: the name is taken`);
  });

  it("Options of routes of two features of one application cannot have the same name", () => {
    const routeOptions = { quota: { check: is.integer(1) } } as object;
    const first = feature<object>({ name: "first", routeOptions });
    const second = feature<object>({ name: "second", routeOptions });
    expect(() => new App().install(first).install(second)).toThrow(
      "the feature second cannot add the route option quota: the name is taken",
    );
    expect(() => new App().install(second)).not.toThrow();
  });

  it("A feature made for another version of the contract is refused with the cure", () => {
    const other = { ...greeting, [contract]: 7 };
    expect(() => new App().install(other as never)).toThrow(
      "the feature greeting is made for version 7 of the feature contract, and this is version 1: install a version of it",
    );
  });

  it.each([[undefined], [{}], [null], ["mail"]])("install(%j) names what it takes", (given) => {
    expect(() => new App().install(given as never)).toThrow(
      "app.install() takes a feature, made with feature() or engine() of stoa/feature or defineBroker() of stoa/messaging, not ",
    );
  });

  it("A feature cannot be installed after the start", async () => {
    const app = new App();
    await app.start();
    ends.push(() => app.stop());
    expect(() => app.install(greeting)).toThrow("install() comes too late");
  });
});

describe("installing an engine", () => {
  it("An engine is opened by the start, is in readiness, and is closed by the stop", async () => {
    const port = await lineServer();
    const app = new App().install(lines, { port });
    app.enableHealthChecks();
    app.get("/{line}", async (request) => request.lines.ask(request.params.line));
    const early = app.lines;
    expect(() => early.ask("now")).toThrow(
      "app.lines.ask was used before the application was started: use it in handlers and startup hooks, or after app.start()",
    );
    await app.start();
    expect(await early.ask("then")).toBe("then");
    expect(await (await app.request("/hello")).text()).toBe("hello");
    expect(await app.lines.ask("again")).toBe("again");
    const report = (await (await app.request("/health/ready")).json()) as { checks: Record<string, unknown> };
    expect(report.checks["lines"]).toMatchObject({ status: "UP" });
    const { socket } = app.lines;
    await app.stop();
    expect(socket.destroyed).toBe(true);
    expect(() => app.lines).toThrow("app.lines is not connected");
  });

  it("The options of an engine are checked by its config class, also by position", async () => {
    expect(() => new App().install(lines, { prot: 1 } as never)).toThrow(
      "unknown option 'prot' in LineConfig; did you mean 'port'?",
    );
    expect(() => new App().install(lines, ...([1, 2] as never as [number]))).toThrow(
      "LineConfig takes at most 1 argument: port",
    );
  });

  it("A feature that refuses its options leaves nothing behind and can be installed again", () => {
    const app = new App();
    expect(() => app.install(lines, { prot: 1 } as never)).toThrow("unknown option 'prot'");
    expect("lines" in app).toBe(false);
    expect("lines" in app.install(lines, { port: 7 })).toBe(true);
  });

  it("An engine that is required and away ends the start", async () => {
    const app = new App().install(lines, 1);
    await expect(app.start()).rejects.toThrow("ECONNREFUSED");
  });

  it("An engine that is not required and away is DEGRADED, and is connected when it comes", async () => {
    const port = await lineServer();
    for (const end of ends.splice(0)) await end();
    const app = new App().install(makeLines(false), port);
    app.enableHealthChecks();
    app.logger = {
      ...app.logger,
      warn: () => {},
      info: () => {},
      error: () => {},
      debug: () => {},
      child: () => app.logger,
    };
    await app.start();
    ends.push(() => app.stop());
    const ready = async (): Promise<[number, unknown]> => {
      const response = await app.request("/health/ready");
      return [response.status, ((await response.json()) as { status: string }).status];
    };
    expect(await ready()).toEqual([200, "DEGRADED"]);
    await lineServer(port);
    await expect.poll(ready, { timeout: 60_000 }).toEqual([200, "UP"]);
    expect(await app.lines.ask("hello")).toBe("hello");
  });
});
