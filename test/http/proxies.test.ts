import { App } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { type Proxies, TrustedProxies, type TrustProxyOptions } from "../../src/http/peer/proxies.js";
import type { RequestSource } from "../../src/http/source.js";
import fc from "../support/properties.js";

function source(peer: string, headers: Record<string, string> = {}, secure = false): RequestSource {
  return {
    method: "GET",
    path: "/",
    search: "",
    remoteAddress: peer,
    secure,
    body: null,
    wantsWebSocket: false,
    header: (name) => ({ host: "internal", ...headers })[name],
    headerLines: () => [],
  };
}

function addressOf(trusted: Proxies | TrustProxyOptions, peer: string, list?: string): string {
  return new TrustedProxies(trusted).address(source(peer, list === undefined ? {} : { "x-forwarded-for": list }));
}

describe("the client's address behind trusted proxies", () => {
  it("The client's address is the rightmost hop that is not trusted", () => {
    const trusted = ["10.0.0.0/8", "203.0.113.9"];
    expect(addressOf(trusted, "10.0.0.1", "198.51.100.7")).toBe("198.51.100.7");
    expect(addressOf(trusted, "10.0.0.1", "6.6.6.6, 198.51.100.7")).toBe("198.51.100.7");
    expect(addressOf(trusted, "10.0.0.1", "6.6.6.6, 198.51.100.7, 203.0.113.9, 10.0.0.2")).toBe("198.51.100.7");
    expect(addressOf(trusted, "10.0.0.1", "10.0.0.3,10.0.0.2")).toBe("10.0.0.3");
    expect(addressOf(trusted, "10.0.0.1")).toBe("10.0.0.1");
  });

  it("The client's address is the peer if that is not a trusted proxy, whatever its headers say", () => {
    expect(addressOf("10.0.0.0/8", "198.51.100.7", "6.6.6.6")).toBe("198.51.100.7");
    expect(addressOf("loopback", "198.51.100.7", "127.0.0.1")).toBe("198.51.100.7");
  });

  it("A number of proxies counts hops from the server's end", () => {
    expect(addressOf(1, "10.0.0.1", "6.6.6.6, 198.51.100.7")).toBe("198.51.100.7");
    expect(addressOf(2, "10.0.0.1", "6.6.6.6, 198.51.100.7, 203.0.113.9")).toBe("198.51.100.7");
    expect(addressOf(3, "10.0.0.1", "198.51.100.7")).toBe("198.51.100.7");
  });

  it("The client's address is the last known hop if the list continues with something else", () => {
    for (const junk of ["unknown", "<script>", "", "_hidden", "999.1.1.1", "example.com"]) {
      expect(addressOf("10.0.0.0/8", "10.0.0.1", `6.6.6.6, ${junk}`), junk).toBe("10.0.0.1");
      expect(addressOf("10.0.0.0/8", "10.0.0.1", `6.6.6.6, ${junk}, 10.0.0.2`), junk).toBe("10.0.0.2");
    }
  });

  it("The client's address is read with a port, in brackets, and as IPv4 inside IPv6", () => {
    expect(addressOf("loopback", "::ffff:127.0.0.1", "198.51.100.7:5555")).toBe("198.51.100.7");
    expect(addressOf("loopback", "::1", "[2001:DB8::7]:443")).toBe("2001:db8::7");
    expect(addressOf("loopback", "::1", "[2001:db8::7]")).toBe("2001:db8::7");
    expect(addressOf("loopback", "::1", "::ffff:198.51.100.7")).toBe("198.51.100.7");
  });

  it("The client's address is read behind a Unix socket if that is trusted", () => {
    expect(addressOf("unix", "", "198.51.100.7")).toBe("198.51.100.7");
    expect(addressOf("loopback", "", "198.51.100.7")).toBe("");
  });

  it("Entries that a client puts before the proxies' entries do not change its address", () => {
    const part = fc.oneof(fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[\x20-\x7e]*$/), fc.constant("10.0.0.9"));
    fc.assert(
      fc.property(fc.array(part), (spoofed) => {
        const list = [...spoofed, "198.51.100.7", "10.0.0.2"].join(", ");
        expect(addressOf("10.0.0.0/8", "10.0.0.1", list)).toBe("198.51.100.7");
      }),
    );
  });

  it("A list of hops of any length is not read as a whole", () => {
    const list = `${"10.0.0.1, ".repeat(3000)}10.0.0.1`;
    expect(addressOf("10.0.0.0/8", "10.0.0.1", list)).toBe("10.0.0.1");
  });
});

describe("the Forwarded header", () => {
  const address = (value: string): string =>
    new TrustedProxies({ proxies: "10.0.0.0/8", header: "forwarded" }).address(
      source("10.0.0.1", { forwarded: value, "x-forwarded-for": "6.6.6.6" }),
    );

  it("The Forwarded header is read in place of X-Forwarded-For if that is configured", () => {
    expect(address("for=6.6.6.6, for=198.51.100.7")).toBe("198.51.100.7");
    expect(address("for=198.51.100.7;")).toBe("198.51.100.7");
    expect(address('For="[2001:db8:cafe::17]:4711";proto=https')).toBe("2001:db8:cafe::17");
    expect(address('for=198.51.100.7 ; proto="http" , by=10.0.0.3;for=10.0.0.2')).toBe("198.51.100.7");
  });

  it("A Forwarded header that hides the address, or is malformed, is ignored", () => {
    for (const value of ["for=unknown", 'for="_gazonk"', "proto=https", "", "for", 'for="1.2.3.4', "x y z"]) {
      expect(address(value), value).toBe("10.0.0.1");
    }
  });

  it("The Forwarded header is not read unless that is configured", () => {
    const trusted = new TrustedProxies("10.0.0.0/8");
    expect(trusted.address(source("10.0.0.1", { forwarded: "for=6.6.6.6" }))).toBe("10.0.0.1");
  });
});

describe("scheme and host", () => {
  const origin = (trusted: Proxies | TrustProxyOptions, peer: string, headers: Record<string, string>): string =>
    new TrustedProxies(trusted).origin(source(peer, headers));
  const both = { "x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https", "x-forwarded-host": "shop.example" };

  it("Scheme and host come from a trusted proxy", () => {
    expect(origin("10.0.0.0/8", "10.0.0.1", both)).toBe("https://shop.example");
    expect(origin("10.0.0.0/8", "10.0.0.1", { "x-forwarded-proto": "HTTPS" })).toBe("https://internal");
    expect(origin("10.0.0.0/8", "10.0.0.1", {})).toBe("http://internal");
  });

  it("Scheme and host are the server's own if the peer is not trusted", () => {
    expect(origin("10.0.0.0/8", "198.51.100.7", both)).toBe("http://internal");
  });

  it("Scheme and host come from the hop nearest to the client, not from the client", () => {
    const headers = {
      "x-forwarded-for": "6.6.6.6, 198.51.100.7, 10.0.0.2",
      "x-forwarded-proto": "http, https, http",
      "x-forwarded-host": "evil.example, shop.example, inner.example",
    };
    expect(origin("10.0.0.0/8", "10.0.0.1", headers)).toBe("https://shop.example");
  });

  it("Invalid forwarded schemes and hosts are ignored", () => {
    for (const host of [
      "evil.example/path",
      "a b",
      "user@evil.example",
      "x:y",
      "[::1",
      "a\u0000b",
      "a:99999999",
      "..",
    ]) {
      expect(origin("10.0.0.0/8", "10.0.0.1", { ...both, "x-forwarded-host": host }), host).toBe("https://internal");
    }
    for (const proto of ["javascript", "ftp", "", "https:"]) {
      expect(origin("10.0.0.0/8", "10.0.0.1", { "x-forwarded-proto": proto })).toBe("http://internal");
    }
    expect(origin("10.0.0.0/8", "10.0.0.1", { ...both, "x-forwarded-host": "[2001:db8::1]:8443" })).toBe(
      "https://[2001:db8::1]:8443",
    );
  });

  it("The forwarded host and scheme can be disabled separately", () => {
    expect(origin({ proxies: 1, host: false }, "10.0.0.1", both)).toBe("https://internal");
    expect(origin({ proxies: 1, proto: false }, "10.0.0.1", both)).toBe("http://shop.example");
  });

  it("Scheme and host are read from Forwarded if that is configured", () => {
    const headers = { forwarded: 'for=198.51.100.7;proto=https;host="shop.example:8443"' };
    expect(origin({ proxies: 1, header: "forwarded" }, "10.0.0.1", headers)).toBe("https://shop.example:8443");
  });
});

describe("app.trustProxy", () => {
  const headers = {
    "x-forwarded-for": "6.6.6.6, 198.51.100.7",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "a.example",
  };

  it.each(["net", "node"] as const)("app.trustProxy() sets request.ip and request.url over %s", async (transport) => {
    const app = new App().trustProxy(["loopback"]);
    app.get("/x", (request) => [request.ip, request.url]);
    await using server = await serve(app, { transport });
    const response = await fetch(`${server.url}/x?y=1`, { headers });
    expect(await response.json()).toEqual(["198.51.100.7", "https://a.example/x?y=1"]);
  });

  it("Every forwarding header is ignored without app.trustProxy()", async () => {
    const app = new App();
    app.get("/", (request) => [request.ip, request.url]);
    await using server = await serve(app);
    const spoofed = ["x-real-ip", "forwarded", "cf-connecting-ip", "true-client-ip", "x-client-ip"];
    const all = { ...headers, ...Object.fromEntries(spoofed.map((name) => [name, "6.6.6.6"])) };
    expect(await (await fetch(server.url, { headers: all })).json()).toEqual(["127.0.0.1", `${server.url}/`]);
  });

  it("app.trustProxy() has both spellings, and refuses values that would trust everybody", () => {
    expect(new App().trust_proxy(1)).toBeInstanceOf(App);
    expect(() => new App().trustProxy(true as never)).toThrow("trustProxy() takes the proxies, not true");
    for (const bad of [0, -1, 1.5, [], "", undefined, null]) expect(() => new App().trustProxy(bad as never)).toThrow();
    expect(() => new App().trustProxy("10.0.0.0/99")).toThrow("is not an address");
    expect(() => new App().trustProxy({ proxies: 1, headers: "x" } as never)).toThrow("did you mean 'header'?");
  });

  it("app.trustProxy() is refused once the application has started", async () => {
    const app = new App();
    await app.start();
    expect(() => app.trustProxy(1)).toThrow("trustProxy() comes too late");
  });
});
