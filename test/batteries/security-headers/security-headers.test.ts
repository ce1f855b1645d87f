import { App, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { wire } from "../support.js";

describe("enableSecurityHeaders()", () => {
  it("Security headers are sent with results and errors, once", async () => {
    const app = new App().enableSecurityHeaders().enable_security_headers();
    const same = new Response("x");
    app.get("/", () => same);
    await using server = await wire(app);
    for (const path of ["/", "/", "/nowhere"]) {
      const response = await server.send(path);
      expect(response.get("content-security-policy")).toBe(
        "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'",
      );
      expect(response.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(response.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(response.get("referrer-policy")).toBe("no-referrer");
      expect(response.get("x-content-type-options")).toBe("nosniff");
      expect(response.get("x-frame-options")).toBe("SAMEORIGIN");
      expect(response.get("x-powered-by")).toBeUndefined();
      expect(response.get("server")).toBeUndefined();
    }
  });

  it("A security header that a handler sets is kept", async () => {
    const app = new App().enableSecurityHeaders();
    app.get("/", () => new Response("x", { headers: { "content-security-policy": "default-src 'none'" } }));
    await using server = await wire(app);
    const response = await server.send("/");
    expect(response.get("content-security-policy")).toBe("default-src 'none'");
    expect(response.get("x-frame-options")).toBe("SAMEORIGIN");
  });

  it("HSTS is sent on encrypted connections, or always if the option says so", async () => {
    const plain = new App().enableSecurityHeaders();
    plain.get("/", () => "x");
    const overTls = await plain.fetch(new Request("https://a.example/"));
    expect(overTls.headers.get("strict-transport-security")).toBe("max-age=31536000; includeSubDomains");
    expect((await plain.fetch(new Request("http://a.example/"))).headers.has("strict-transport-security")).toBe(false);
    const always = new App().enableSecurityHeaders({
      hsts: { maxAge: 5, includeSubDomains: false, preload: true, always: true },
    });
    always.get("/", () => "x");
    const response = await always.fetch(new Request("http://a.example/"));
    expect(response.headers.get("strict-transport-security")).toBe("max-age=5; preload");
    const never = new App().enableSecurityHeaders({ hsts: false });
    never.get("/", () => "x");
    expect((await never.fetch(new Request("https://a.example/"))).headers.has("strict-transport-security")).toBe(false);
  });

  it("Options change and remove security headers", async () => {
    const app = new App().enableSecurityHeaders({
      contentSecurityPolicy: { "script-src": ["'self'", "https://cdn.example"], "img-src": "*", "object-src": false },
      contentSecurityPolicyReportOnly: true,
      crossOriginOpenerPolicy: false,
      crossOriginResourcePolicy: "cross-origin",
      crossOriginEmbedderPolicy: "require-corp",
      referrerPolicy: "origin",
      permissionsPolicy: "camera=()",
      frameOptions: "DENY",
      contentTypeOptions: false,
    });
    app.get("/", () => "x");
    await using server = await wire(app);
    const response = await server.send("/");
    expect(response.get("content-security-policy")).toBeUndefined();
    expect(response.get("content-security-policy-report-only")).toBe(
      "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; img-src *; script-src 'self' https://cdn.example",
    );
    expect(response.get("cross-origin-opener-policy")).toBeUndefined();
    expect(response.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(response.get("cross-origin-embedder-policy")).toBe("require-corp");
    expect(response.get("referrer-policy")).toBe("origin");
    expect(response.get("x-content-type-options")).toBeUndefined();
    expect(response.get("permissions-policy")).toBe("camera=()");
    expect(response.get("x-frame-options")).toBe("DENY");
  });

  it("Values that cannot be sent or would end a directive are refused", () => {
    const enable = (options: unknown) => (): unknown => new App().enableSecurityHeaders(options as never);
    expect(enable({ referrerPolicy: "a\r\nb" })).toThrow("option 'referrerPolicy'");
    expect(enable({ referrerPolicy: "" })).toThrow("option 'referrerPolicy'");
    expect(enable({ frameOptions: "ALLOW" })).toThrow('one of "DENY", "SAMEORIGIN", false');
    expect(enable({ contentSecurityPolicy: { "img-src": ["a; script-src *"] } })).toThrow("a list of sources");
    expect(enable({ contentSecurityPolicy: { "IMG SRC": ["a"] } })).toThrow("names of directives");
    expect(enable({ hsts: { max_ages: 1 } })).toThrow("did you mean 'max_age'?");
    expect(enable({ refererPolicy: "x" })).toThrow("did you mean 'referrerPolicy'?");
  });
});
