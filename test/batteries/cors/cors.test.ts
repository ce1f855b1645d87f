import net from "node:net";
import { App, type Request, Response } from "stoa";
import { afterEach, describe, expect, it } from "vitest";
import { serve, type TestServer } from "../../../src/testing/serve.js";
import { send, type WireRequest, type WireResponse } from "../wire.js";

const allowed = "https://app.example";
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
let server: TestServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function call(app: App, path: string, init?: WireRequest): Promise<WireResponse> {
  app.logger = silent;
  server ??= await serve(app, { debug: false });
  return send(server.url, path, init);
}

function preflight(headers: Record<string, string> = {}): WireRequest {
  return { method: "OPTIONS", headers: { Origin: allowed, "Access-Control-Request-Method": "PUT", ...headers } };
}

describe("enableCors() without origins", () => {
  it("CORS without origins allows every site, with the same header for all and no Vary", async () => {
    const app = new App().enableCors();
    app.get("/", () => "x");
    const response = await call(app, "/", { headers: { Origin: "https://anybody.example" } });
    expect(response.get("access-control-allow-origin")).toBe("*");
    expect(response.get("access-control-allow-credentials")).toBeUndefined();
    expect(response.get("vary")).toBeUndefined();
    expect((await call(app, "/")).get("access-control-allow-origin")).toBe("*");
  });

  it("A preflight gets all methods, the common headers and a day", async () => {
    const app = new App().enableCors();
    app.put("/books/{id}", () => "x");
    const response = await call(app, "/books/1", preflight());
    expect(response.status).toBe(204);
    expect(response.text).toBe("");
    expect(response.get("access-control-allow-origin")).toBe("*");
    expect(response.get("access-control-max-age")).toBe("86400");
    const methods = response.get("access-control-allow-methods")!.split(", ");
    expect(methods).toEqual(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
    const headers = response.get("access-control-allow-headers")!.split(", ");
    expect(headers).toEqual(expect.arrayContaining(["Content-Type", "Authorization", "X-Requested-With", "X-API-Key"]));
  });
});

describe("exact origins", () => {
  it("CORS with origins names the requesting origin, and always sends Vary", async () => {
    const app = new App().enableCors([allowed, "http://localhost:3000"]);
    app.get("/", () => "x");
    const response = await call(app, "/", { headers: { Origin: allowed } });
    expect(response.get("access-control-allow-origin")).toBe(allowed);
    expect(response.get("vary")).toBe("Origin");
    expect((await call(app, "/")).get("vary")).toBe("Origin");
    const second = await call(app, "/", { headers: { Origin: "http://localhost:3000" } });
    expect(second.get("access-control-allow-origin")).toBe("http://localhost:3000");
  });

  it.each([
    ["another", "https://other.example"],
    ["null", "null"],
    ["a suffix", "https://app.example.evil.example"],
    ["a prefix", "https://evilapp.example"],
    ["a subdomain", "https://x.app.example"],
    ["another scheme", "http://app.example"],
    ["another port", "https://app.example:8443"],
    ["another case", "https://APP.example"],
    ["a user", "https://app.example@evil.example"],
    ["a list", "https://app.example, https://evil.example"],
    ["a path", "https://app.example/"],
    ["nothing", ""],
  ])("CORS gives no permission to another origin: %s", async (_what, origin) => {
    const app = new App().enableCors([allowed]);
    app.get("/", () => "x");
    for (const init of [{ headers: { Origin: origin } }, preflight({ Origin: origin })]) {
      const response = await call(app, "/", init);
      expect(response.get("access-control-allow-origin")).toBeUndefined();
      expect(response.get("access-control-allow-methods")).toBeUndefined();
      expect(response.get("vary")).toBe("Origin");
    }
  });

  it("CORS allows credentials if the option says so", async () => {
    const app = new App().enableCors({ origins: [allowed], credentials: true });
    app.get("/", () => "x");
    for (const init of [{ headers: { Origin: allowed } }, preflight()]) {
      const response = await call(app, "/", init);
      expect(response.get("access-control-allow-origin")).toBe(allowed);
      expect(response.get("access-control-allow-credentials")).toBe("true");
    }
    const other = await call(app, "/", { headers: { Origin: "https://other.example" } });
    expect(other.get("access-control-allow-credentials")).toBeUndefined();
  });

  it("Origin is added once to a handler's own Vary", async () => {
    const app = new App().enableCors([allowed]);
    const same = new Response("shared", { headers: { vary: "Accept" } });
    app.get("/accept", () => same);
    app.get("/origin", () => new Response("x", { headers: { Vary: "accept, ORIGIN" } }));
    app.get("/all", () => new Response("x", { headers: { Vary: "*" } }));
    const headers = { Origin: allowed };
    for (let i = 0; i < 3; i++) {
      const response = await call(app, "/accept", { headers });
      expect(response.get("vary")).toBe("Accept, Origin");
      expect(response.get("access-control-allow-origin")).toBe(allowed);
    }
    expect((await call(app, "/origin", { headers })).get("vary")).toBe("accept, ORIGIN");
    expect((await call(app, "/all", { headers })).get("vary")).toBe("*");
  });

  it("A response object that is used again gets the origin of each request", async () => {
    const app = new App().enableCors([allowed, "https://second.example"]);
    const same = new Response("shared");
    app.get("/", () => same);
    for (const origin of [allowed, "https://second.example", allowed]) {
      expect((await call(app, "/", { headers: { Origin: origin } })).get("access-control-allow-origin")).toBe(origin);
    }
  });
});

describe("a function", () => {
  it.each([
    ["at once", (origin: string) => origin.endsWith(".app.example")],
    ["later", async (origin: string) => origin.endsWith(".app.example")],
  ])("A function decides about origins %s", async (_when, origins) => {
    const app = new App().enableCors({ origins });
    app.get("/", () => "x");
    const headers = { Origin: "https://one.app.example" };
    const response = await call(app, "/", { headers });
    expect(response.get("access-control-allow-origin")).toBe("https://one.app.example");
    expect(response.get("vary")).toBe("Origin");
    expect((await call(app, "/", preflight(headers))).get("access-control-allow-origin")).toBe(headers.Origin);
    const other = await call(app, "/", { headers: { Origin: "https://one.other.example" } });
    expect(other.get("access-control-allow-origin")).toBeUndefined();
    expect(other.get("vary")).toBe("Origin");
  });

  it("A function for origins gets the request, and only true allows", async () => {
    const app = new App().enableCors((_origin: string, request: Request) => (request.path === "/yes") as boolean);
    app.get("/{x}", () => "x");
    const headers = { Origin: allowed };
    expect((await call(app, "/yes", { headers })).get("access-control-allow-origin")).toBe(allowed);
    expect((await call(app, "/no", { headers })).get("access-control-allow-origin")).toBeUndefined();
  });

  it("A function for origins that throws allows nothing", async () => {
    const app = new App().enableCors(() => {
      throw new Error("broken");
    });
    app.get("/", () => "secret");
    const response = await call(app, "/", { headers: { Origin: allowed } });
    expect([response.status, response.get("access-control-allow-origin")]).toEqual([500, undefined]);
    expect(response.text).not.toContain("secret");
  });
});

describe("a preflight", () => {
  it("A preflight runs no middleware of the application, no guard and no handler, with a route or without", async () => {
    const app = new App();
    const ran: string[] = [];
    app.use((_request, next) => {
      ran.push("middleware");
      return next();
    });
    app.addGuard(() => {
      ran.push("guard");
      return false;
    });
    app.put("/books", () => ran.push("handler"));
    app.options("/custom", () => {
      ran.push("options");
      return "custom";
    });
    app.enableCors([allowed]);
    for (const path of ["/books", "/custom", "/nowhere"]) {
      const response = await call(app, path, preflight());
      expect([path, response.status, response.get("access-control-allow-origin")]).toEqual([path, 204, allowed]);
    }
    expect(ran).toEqual([]);
  });

  it("An OPTIONS request without an origin or a requested method is not a preflight, and reaches its route", async () => {
    const app = new App().enableCors([allowed]);
    app.options("/custom", () => "custom");
    expect((await call(app, "/custom", { method: "OPTIONS" })).text).toBe("custom");
    const plain = await call(app, "/custom", { method: "OPTIONS", headers: { Origin: allowed } });
    expect([plain.text, plain.get("access-control-allow-origin")]).toEqual(["custom", allowed]);
    const noOrigin = { method: "OPTIONS", headers: { "Access-Control-Request-Method": "PUT" } };
    expect((await call(app, "/custom", noOrigin)).text).toBe("custom");
  });

  it("A preflight gets the configured methods, headers and age", async () => {
    const app = new App().enable_cors({
      origins: [allowed],
      methods: ["GET", "PUT"],
      allow_headers: ["X-Tenant"],
      expose_headers: ["X-Total", "ETag"],
      max_age: 5,
    });
    app.get("/", () => "x");
    const response = await call(app, "/", preflight());
    expect(response.get("access-control-allow-methods")).toBe("GET, PUT");
    expect(response.get("access-control-allow-headers")).toBe("X-Tenant");
    expect(response.get("access-control-max-age")).toBe("5");
    expect(response.get("access-control-expose-headers")).toBeUndefined();
    const actual = await call(app, "/", { headers: { Origin: allowed } });
    expect(actual.get("access-control-expose-headers")).toBe("X-Total, ETag");
    expect(actual.get("access-control-allow-methods")).toBeUndefined();
  });

  it("A preflight gets the headers it requests if all are allowed, as long as they are valid names", async () => {
    const app = new App().enableCors({ origins: [allowed], credentials: true, allowHeaders: "*" });
    const ask = async (asked: string): Promise<WireResponse> =>
      call(app, "/", preflight({ "Access-Control-Request-Headers": asked }));
    const response = await ask("x-one,  X-Two ,content-type");
    expect(response.get("access-control-allow-headers")).toBe("x-one, X-Two, content-type");
    expect(response.get("vary")).toBe("Access-Control-Request-Headers, Origin");
    for (const bad of ["x-one, <script>", "x y", "x:\u00e9", 'a"b', `x-${"y".repeat(5000)}`]) {
      expect((await ask(bad)).get("access-control-allow-headers")).toBeUndefined();
    }
  });

  it("A preflight cannot inject a header through the requested ones", async () => {
    const app = new App().enableCors({ origins: [allowed], allowHeaders: "*" });
    app.logger = silent;
    server = await serve(app);
    const socket = net.connect(server.address.port, "127.0.0.1");
    socket.end(
      `OPTIONS / HTTP/1.1\r\nHost: a\r\nOrigin: ${allowed}\r\nAccess-Control-Request-Method: PUT\r\nAccess-Control-Request-Headers: x\r\n injected: 1\rX-Bad: 2\r\n\r\n`,
      "latin1",
    );
    let text = "";
    for await (const piece of socket) text += String(piece);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).not.toMatch(/injected|x-bad/i);
  });
});

describe("errors", () => {
  it("An allowed site can read errors too", async () => {
    const app = new App().enableCors([allowed]).enableBodyLimit(10);
    app.post("/upload", () => "x");
    const headers = { Origin: allowed };
    const cases: [number, string, WireRequest][] = [
      [404, "/nowhere", { headers }],
      [405, "/upload", { headers }],
      [400, "/%zz", { headers }],
      [413, "/upload", { method: "POST", headers, body: "x".repeat(11) }],
    ];
    for (const [status, path, init] of cases) {
      const response = await call(app, path, init);
      expect([path, response.status, response.get("access-control-allow-origin")]).toEqual([path, status, allowed]);
    }
  });

  it.each([
    ["a guard's", 403],
    ["a middleware's", 429],
    ["a handler's", 500],
  ])("An allowed site can read %s error response too", async (_whose, status) => {
    const app = new App().enableCors([allowed]);
    app.use({ before: (request) => (request.path === "/429" ? Response.json({}, 429) : undefined) });
    app.get("/403", { guards: [() => false] }, () => "x");
    app.get("/429", () => "x");
    app.get("/500", async () => {
      throw new Error("broken");
    });
    const response = await call(app, `/${status}`, { headers: { Origin: allowed } });
    expect([response.status, response.get("access-control-allow-origin")]).toEqual([status, allowed]);
  });
});

describe("options", () => {
  it("enable_cors() accepts the contract's positional form, and the last call counts", async () => {
    const app = new App().enable_cors(["https://first.example"]).enableCors([allowed]);
    app.get("/", () => "x");
    expect((await call(app, "/", { headers: { Origin: allowed } })).all("access-control-allow-origin")).toEqual([
      allowed,
    ]);
    const first = await call(app, "/", { headers: { Origin: "https://first.example" } });
    expect(first.all("access-control-allow-origin")).toEqual([]);
  });

  it("Credentials for every origin are refused", () => {
    expect(() => new App().enableCors({ credentials: true })).toThrow(/cannot allow credentials to every site/);
    expect(() => new App().enableCors({ origins: [allowed, "*"], credentials: true })).toThrow(/every site/);
  });

  it.each([
    ["https://app.example/", 'write "https://app.example"'],
    ["https://APP.example", 'write "https://app.example"'],
    ["https://app.example:443", 'write "https://app.example"'],
    ["app.example", "is not an origin"],
    ["https://*.app.example", "is not an origin"],
    ["null", "any page can make itself have it"],
    ["", "is not an origin"],
  ])("The origin %j, which no browser sends, is refused", (origin, message) => {
    expect(() => new App().enableCors([origin])).toThrow(message);
  });

  it("Origins of other schemes are accepted", () => {
    expect(() => new App().enableCors(["capacitor://localhost", "chrome-extension://abcdef"])).not.toThrow();
  });

  it("An unknown option of enableCors() is refused by name", () => {
    expect(() => new App().enableCors({ origin: ["*"] } as never)).toThrow(
      "unknown option 'origin' in enableCors(); did you mean 'origins'?",
    );
    expect(() => new App().enableCors({ maxAge: "1 d" } as never)).toThrow("option 'maxAge' in enableCors() must be");
    expect(() => new App().enableCors({ allowHeaders: ["a\nb"] })).toThrow(/allowHeaders/);
  });
});
