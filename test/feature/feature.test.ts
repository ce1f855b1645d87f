import { App, Request } from "stoa";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { features } from "../../src/app/features.js";
import { type FeatureDefinition, feature } from "../../src/feature/feature.js";
import { type Host, perHost } from "../../src/feature/host.js";
import { WebSource } from "../../src/http/web.js";

interface GreetingFace {
  enableGreeting(text: string): this;
  greet(name: string): string;
  readonly greeting: string;
}

const stateOf = perHost(() => ({ text: "hello" }));

const definition: FeatureDefinition<GreetingFace> = {
  name: "greeting",
  setup: {
    enableGreeting(host, text) {
      stateOf(host).text = text;
    },
  },
  methods: { greet: (host, name) => `${stateOf(host).text} ${name}` },
  values: { greeting: (host) => stateOf(host).text },
  requestMembers: { salutation: (host, request) => `${stateOf(host).text} ${request.path}` },
};

/** An application class of its own, so that the members of App stay as they are. */
function installed(given: FeatureDefinition<GreetingFace> = definition): new () => App & GreetingFace {
  class Greeter extends App {}
  const made = feature<GreetingFace>(given);
  made.addMembers(Greeter.prototype, hostOf as (app: unknown) => Host);
  made.addToRequests();
  return Greeter as never;
}

describe("a feature", () => {
  it("A feature adds its members to the application in both spellings", () => {
    const app = new (installed())();
    expect(app.enableGreeting("welcome")).toBe(app);
    expect(app.greet("you")).toBe("welcome you");
    expect(app.greeting).toBe("welcome");
    expect((app as unknown as Record<string, (text: string) => unknown>)["enable_greeting"]!("good day")).toBe(app);
    expect(app.greeting).toBe("good day");
  });

  it("A test can replace a member of a feature by its own method", () => {
    const Greeter = installed();
    const app = new Greeter();
    app.greet = (name) => `fake ${name}`;
    expect(app.greet("you")).toBe("fake you");
    expect(new Greeter().greet("you")).toBe("hello you");
  });

  it("A feature keeps separate state for each application", () => {
    const Greeter = installed();
    const [one, other] = [new Greeter().enableGreeting("one"), new Greeter()];
    expect([one.greeting, other.greeting]).toEqual(["one", "hello"]);
  });

  it("The setup methods of a feature are refused after the start, and other members are not", async () => {
    const app = new (installed())();
    await app.start();
    expect(() => app.enableGreeting("late")).toThrow("enableGreeting() comes too late");
    expect(app.greet("you")).toBe("hello you");
  });

  it("A setup method that is declared as late is accepted after the start", async () => {
    const app = new (installed({ ...definition, late: ["enableGreeting"] }))();
    await app.start();
    expect(app.enableGreeting("late").greeting).toBe("late");
  });

  it("A feature adds its members to requests, which need an application", () => {
    installed();
    const request = new Request(new WebSource(new globalThis.Request("http://x/path")));
    const read = (): unknown => (request as unknown as { salutation: string }).salutation;
    expect(read).toThrow("request.salutation is available once an application handles the request");
    request.host = hostOf(new App());
    expect(read()).toBe("hello /path");
  });
});

describe("a battery that is enabled twice", () => {
  it("A battery that is enabled twice has the settings of the later call", async () => {
    const app = new App().enableCors(["https://first.example"]).enableCors(["https://second.example"]);
    app.enableRateLimit({ maxRequests: 1 }).enableRateLimit({ maxRequests: 7 });
    app.enableSecurityHeaders().enableRequestId().enableRequestId().enableRequestContext().enableRequestContext();
    app.enableSessions({ secret: "a".repeat(32), cookie: { name: "first" } });
    app.enableSessions({ secret: "a".repeat(32), cookie: { name: "second" } });
    app.enableIpFilter({ deny: ["0.0.0.0/0", "::/0"] }).enableIpFilter({ deny: ["192.0.2.1"] });
    app.enableMetrics("/first").enableMetrics("/second").enableHealthChecks("/one").enableHealthChecks("/two");
    app.enableOpenapi("First").enableOpenapi("Second").enableBodyLimit(1).enableBodyLimit(10);
    app.post("/", (request) => {
      request.session.set("seen", true);
      return request.text();
    });
    const post = (origin: string, body: string): Promise<globalThis.Response> =>
      app.request("/", { method: "POST", body, headers: { origin } });
    const response = await post("https://second.example", "0123456789");
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://second.example");
    expect(response.headers.get("ratelimit-limit")).toBe("7");
    expect(response.headers.getSetCookie().map((cookie) => cookie.split("=")[0])).toEqual(["second"]);
    expect((await post("https://second.example", "0123456789+")).status).toBe(413);
    expect((await app.request("/first")).status).toBe(404);
    expect((await app.request("/second")).status).toBe(200);
    expect((await app.request("/one")).status).toBe(404);
    expect((await app.request("/two")).status).toBe(200);
    expect((await app.openapi()).info.title).toBe("Second");
  });
});

describe("the list of features", () => {
  it("The list of features contains every feature once, under a name of its own", () => {
    const names = features.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

it("What a feature adds to requests has both spellings", async () => {
  const app = new App()
    .enableEventSourcing()
    .enableCsrf({ tokens: true })
    .enableSessions({ secret: "x".repeat(32) });
  app.get("/", (request) => [
    request.event_store === request.eventStore,
    request.csrf_token().length === request.csrfToken().length,
  ]);
  expect(await (await app.request("/")).json()).toEqual([true, true]);
  await app.stop();
});
