import { ApiKeyAuth, type ApiKeys, App } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, vi } from "vitest";
import { nodeCrypto } from "../../src/kit/node-modules.js";
import fc from "../support/properties.js";

const hmac = vi.spyOn(nodeCrypto(), "createHmac");
const compare = vi.spyOn(nodeCrypto(), "timingSafeEqual");

function keyApp(keys: ApiKeys = { "key-one": "billing", "key-two": "search" }, header?: string): App {
  const app = new App().use(header === undefined ? new ApiKeyAuth(keys) : new ApiKeyAuth(keys, header));
  app.get("/", (request) => ({ name: request.context.api_key_name }));
  return app;
}

async function ask(app: App, key: string, header = "x-api-key"): Promise<[number, unknown]> {
  const response = await app.request("/", { headers: { [header]: key } });
  return [response.status, response.status === 200 ? await response.json() : undefined];
}

describe("ApiKeyAuth", () => {
  it("ApiKeyAuth puts the name of the key into the context", async () => {
    expect(await ask(keyApp(), "key-one")).toEqual([200, { name: "billing" }]);
    expect(await ask(keyApp(), "key-two")).toEqual([200, { name: "search" }]);
    expect(await ask(keyApp(new Map([["k", "map"]])), "k")).toEqual([200, { name: "map" }]);
  });

  it("ApiKeyAuth reads the configured header, in any case", async () => {
    expect(await ask(keyApp({ k: "n" }, "X-Service-Token"), "k", "x-service-token")).toEqual([200, { name: "n" }]);
    expect((await ask(keyApp({ k: "n" }, "X-Service-Token"), "k"))[0]).toBe(401);
  });

  it("ApiKeyAuth responds with 401, the contract's exact body and the scheme", async () => {
    const missing = await keyApp().request("/");
    const wrong = await keyApp().request("/", { headers: { "x-api-key": "key-on" } });
    expect([missing.status, wrong.status]).toEqual([401, 401]);
    expect(await missing.json()).toEqual({ error: "Unauthorized", detail: "An API key is required.", status: 401 });
    expect(await wrong.json()).toEqual({ error: "Unauthorized", detail: "The API key is not valid.", status: 401 });
    expect(wrong.headers.get("www-authenticate")).toBe('ApiKey header="X-API-Key"');
  });

  it("ApiKeyAuth accepts only the given keys: no inherited member, no part and no list", async () => {
    const app = keyApp();
    const others = [
      "__proto__",
      "constructor",
      "toString",
      "hasOwnProperty",
      "key-onex",
      "KEY-ONE",
      "key-one, key-two",
    ];
    for (const key of others) expect((await ask(app, key))[0], key).toBe(401);
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[\x21-\x7e]{1,20}$/), async (key) => {
        expect((await ask(app, key))[0]).toBe(key === "key-one" || key === "key-two" ? 200 : 401);
      }),
    );
  });

  it("ApiKeyAuth refuses a header that is sent twice over the wire", async () => {
    await using server = await serve(keyApp());
    const headers: [string, string][] = [
      ["x-api-key", "key-one"],
      ["x-api-key", "key-one"],
    ];
    expect((await fetch(server.url, { headers })).status).toBe(401);
  });

  it("ApiKeyAuth finds a key by its digest, with the same work for any key and any number of keys", async () => {
    const keys = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key-${i}`, `service-${i}`]));
    const app = new App().use(new ApiKeyAuth(keys));
    app.get("/", (request) => request.context.api_key_name);
    await app.start();
    for (const key of ["key-0", "key-250", "key-499", "none", "", "x".repeat(5000)]) {
      hmac.mockClear();
      compare.mockClear();
      const response = await app.request("/", { headers: { "x-api-key": key } });
      expect(response.status, key).toBe(key.startsWith("key-") ? 200 : 401);
      expect([hmac.mock.calls.length, compare.mock.calls.length], key).toEqual([1, 0]);
    }
  });

  it("ApiKeyAuth accepts its arguments in both forms", async () => {
    const app = new App().use(new ApiKeyAuth({ keys: { k: "n" }, header: "X-Key" }));
    app.get("/", (request) => request.context.api_key_name);
    expect(await (await app.request("/", { headers: { "x-key": "k" } })).text()).toBe("n");
  });

  it("ApiKeyAuth refuses invalid keys and headers, and shows no key in the message", () => {
    expect(() => new ApiKeyAuth({})).toThrow("ApiKeyAuth needs at least one key");
    expect(() => new ApiKeyAuth(undefined as never)).toThrow("option 'keys' is required in ApiKeyAuth");
    expect(() => new ApiKeyAuth(["k"] as never)).toThrow("a mapping of keys to the names of their holders");
    expect(() => new ApiKeyAuth({ "": "n" })).toThrow("the API key of 'n' is empty");
    expect(() => new ApiKeyAuth({ sécret: "n" })).toThrow(/^(?!.*sécret).*visible ASCII/);
    expect(() => new ApiKeyAuth({ k: 1 } as never)).toThrow("must be mapped to a name");
    expect(() => new ApiKeyAuth({ k: "n" }, "bad header")).toThrow("the name of a header");
  });
});
