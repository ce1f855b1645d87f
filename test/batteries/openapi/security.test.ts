import { AnyAuth, ApiKeyAuth, BasicAuth, Blueprint, JwtAuth } from "stoa";
import { describe, expect, it } from "vitest";
import { documentOf } from "./document-of.js";

describe("security", () => {
  const secret = "0123456789abcdef0123456789abcdef";

  it("The documented security comes from the authentication of a route", async () => {
    const { paths, components } = await documentOf((app) => {
      app.use(new JwtAuth({ secret }).skipPath("/public", "/openapi.json"));
      const keys = new ApiKeyAuth({ key: "name" }, "X-Key");
      app.get("/public/a", () => "").get("/publicity", () => "");
      app.get("/both", { middleware: [keys] }, () => "");
      const admin = new Blueprint("/admin");
      admin.use(new AnyAuth(new BasicAuth(() => true), keys));
      admin.get("/x", () => "");
      app.registerBlueprint(admin);
    });
    expect(paths["/public/a"].get.security).toBeUndefined();
    expect(Object.keys(paths["/public/a"].get.responses)).not.toContain("401");
    expect(paths["/publicity"].get.security).toEqual([{ bearerAuth: [] }]);
    expect(paths["/publicity"].get.responses["401"]).toEqual({ $ref: "#/components/responses/Unauthenticated" });
    expect(paths["/both"].get.security).toEqual([{ bearerAuth: [], apiKeyAuth: [] }]);
    expect(paths["/admin/x"].get.security).toEqual([
      { bearerAuth: [], basicAuth: [] },
      { bearerAuth: [], apiKeyAuth: [] },
    ]);
    expect(components.securitySchemes).toEqual({
      bearerAuth: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
      basicAuth: { type: "http", scheme: "basic" },
      apiKeyAuth: { type: "apiKey", in: "header", name: "X-Key" },
    });
  });

  it("Two security schemes with one name get two names", async () => {
    const { components } = await documentOf((app) => {
      app.get("/a", { middleware: [new ApiKeyAuth({ k: "n" }, "X-A")] }, () => "");
      app.get("/b", { middleware: [new ApiKeyAuth({ k: "n" }, "X-B")] }, () => "");
    });
    expect(Object.keys(components.securitySchemes)).toEqual(["apiKeyAuth", "apiKeyAuth2"]);
  });
});
