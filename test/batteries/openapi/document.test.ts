import { App, type OpenApiDocument } from "stoa";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { documentOf } from "./document-of.js";

describe("the document", () => {
  it("The document has the contract's title and version by default, in either form of the call", async () => {
    const info = async (...given: Parameters<App["enableOpenapi"]>) => {
      const app = new App().enableOpenapi(...given);
      return ((await (await app.request("/openapi.json")).json()) as OpenApiDocument).info;
    };
    expect(await info()).toEqual({ title: "Framework API", version: "1.4.0" });
    expect(await info("Books", "2.0.0")).toEqual({ title: "Books", version: "2.0.0" });
    expect(await info({ title: "Books", terms_of_service: "/terms" })).toEqual({
      title: "Books",
      version: "1.4.0",
      termsOfService: "/terms",
    });
  });

  it("The document is 3.1, has the server / and requires no security by default", async () => {
    expect(await documentOf(() => {})).toEqual({
      openapi: "3.1.0",
      info: { title: "Framework API", version: "1.4.0" },
      servers: [{ url: "/" }],
      security: [],
      paths: {},
    });
  });

  it("Invalid options of enableOpenapi() are refused by name", () => {
    const app = new App();
    const refused: [unknown, string][] = [
      [{ titel: "x" }, "unknown option 'titel' in enableOpenapi(); did you mean 'title'?"],
      [{ title: "" }, "option 'title' in enableOpenapi() must be a non-empty string"],
      [{ docsPath: "docs" }, "must be a path without parameters that begins with '/'"],
      [{ docsPath: "/{x}" }, "must be a path without parameters"],
      [{ docsPath: "/a", redocPath: "/a" }, 'was given the path "/a" twice'],
      [{ schemas: { "a b": z.string() } }, "must be an object of schemas by name"],
      [{ servers: [] }, "must be a list of addresses"],
    ];
    for (const [options, message] of refused) expect(() => app.enableOpenapi(options as never)).toThrow(message);
    expect(() => app.get("/", { responses: { 99: "x" } }, () => "")).toThrow("option 'responses' in the route /");
  });

  it("The document leaves out hidden routes and the framework's own", async () => {
    const { paths } = await documentOf((app) => {
      app.get("/shown", () => "").get("/hidden", { hidden: true }, () => "");
      app.enableHealthChecks().enableMetrics().enableStaticFiles("examples");
    });
    expect(Object.keys(paths)).toEqual(["/shown"]);
  });

  it("The document can be transformed, and is available without a request", async () => {
    const app = new App();
    app.get("/", () => "");
    app.enableOpenapi({
      transform: (document) => {
        document["x-logo"] = { url: "/logo.svg" };
      },
    });
    const document = await app.openapi();
    expect(document["x-logo"]).toEqual({ url: "/logo.svg" });
    expect(await (await app.request("/openapi.json")).json()).toEqual(document);
  });
});
