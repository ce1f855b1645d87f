import { App, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { wire } from "../support.js";

function bookApp(): App {
  const app = new App().enableEtag();
  app.get("/book", () => ({ title: "Emma" }));
  app.post("/book", () => ({ title: "Emma" }));
  app.get("/other", () => ({ title: "Persuasion" }));
  app.get("/bytes", () => new TextEncoder().encode('{"title":"Emma"}'));
  app.get("/own", () => new Response("x", { headers: { etag: '"mine"' } }));
  app.get("/missing", () => Response.json({ title: "Emma" }, 404));
  app.get("/part", () => new Response("x", { status: 206, headers: { "Content-Range": "bytes 0-0/2" } }));
  app.get("/empty", () => undefined);
  app.get("/throws", () => {
    throw new Error("broken");
  });
  return app;
}

describe("enableEtag()", () => {
  it("A body gets a weak entity tag that depends on its bytes", async () => {
    await using server = await wire(bookApp());
    const tag = (await server.send("/book")).get("etag");
    expect(tag).toMatch(/^W\/"[A-Za-z0-9+/]{27}"$/);
    expect((await server.send("/book")).get("etag")).toBe(tag);
    expect((await server.send("/bytes")).get("etag")).toBe(tag);
    expect((await server.send("/other")).get("etag")).not.toBe(tag);
    expect((await server.send("/book", { method: "HEAD" })).get("etag")).toBe(tag);
  });

  it("The entity tag changes with the body, and returns with it", async () => {
    const app = new App().enableEtag();
    app.get("/", (request) => request.query.get("body") ?? "");
    await using server = await wire(app);
    const tagOf = async (body: string): Promise<string> => (await server.send(`/?body=${body}`)).get("etag")!;
    const long = "x".repeat(10_000);
    const bodies = ["one", "two", "one", "one", long, "two", long, `${long}y`];
    const tags: string[] = [];
    for (const body of bodies) tags.push(await tagOf(body));
    expect(new Set(tags).size).toBe(4);
    for (const [i, body] of bodies.entries()) expect(tags[i]).toBe(tags[bodies.indexOf(body)]);
  });

  it.each([
    ["the tag", (tag: string) => tag],
    ["the tag as a strong one", (tag: string) => tag.slice(2)],
    ["a list with it", (tag: string) => `"a", W/"b,c",${tag} , "d"`],
    ["a star", () => "*"],
  ])("A request gets 304 for If-None-Match with %s", async (_what, make) => {
    await using server = await wire(bookApp());
    const tag = (await server.send("/book")).get("etag")!;
    for (const method of ["GET", "HEAD"]) {
      const response = await server.send("/book", { method, headers: { "If-None-Match": make(tag) } });
      expect([response.status, response.text, response.get("etag")]).toEqual([304, "", tag]);
      expect(response.get("content-type")).toBeUndefined();
      expect(response.get("content-length")).toBeUndefined();
    }
  });

  it.each(['"other"', "garbage", "", 'W/"', '"a" "b"'])(
    "A request gets the body for If-None-Match: %s",
    async (value) => {
      await using server = await wire(bookApp());
      const response = await server.send("/book", { headers: { "If-None-Match": value } });
      expect([response.status, response.text]).toEqual([200, '{"title":"Emma"}']);
    },
  );

  it("If-None-Match takes precedence over If-Modified-Since", async () => {
    await using server = await wire(bookApp());
    const future = new Date(Date.now() + 1e9).toUTCString();
    const headers = { "If-None-Match": '"other"', "If-Modified-Since": future };
    expect((await server.send("/book", { headers })).status).toBe(200);
  });

  it("If-Modified-Since is used if the handler sets Last-Modified and the client has no tag", async () => {
    const app = new App().enableEtag();
    const modified = "Tue, 01 Jan 2030 00:00:00 GMT";
    const fields = { headers: { "Last-Modified": modified } };
    app.get("/", () => new Response("x", fields));
    app.post("/", () => new Response("x", fields));
    app.get("/stream", () => Response.stream(new Blob(["x"]).stream(), fields));
    app.get("/none", () => "x");
    app.get("/wrong", () => new Response("x", { headers: { "Last-Modified": "yesterday" } }));
    await using server = await wire(app);
    const status = async (path: string, since: string, more = {}, method = "GET"): Promise<number> =>
      (await server.send(path, { method, headers: { "If-Modified-Since": since, ...more } })).status;
    for (const path of ["/", "/stream"]) {
      expect(await status(path, modified)).toBe(304);
      expect(await status(path, "Wed, 02 Jan 2030 00:00:00 GMT")).toBe(304);
      expect(await status(path, "Mon, 31 Dec 2029 23:59:59 GMT")).toBe(200);
      expect(await status(path, "garbage")).toBe(200);
      expect(await status(path, modified, { "If-None-Match": '"other"' })).toBe(200);
    }
    expect(await status("/", modified, {}, "HEAD")).toBe(304);
    expect(await status("/", modified, {}, "POST")).toBe(200);
    expect([await status("/none", modified), await status("/wrong", modified)]).toEqual([200, 200]);
  });

  it("A body of any size gets an entity tag", async () => {
    const app = new App().enableEtag();
    app.get("/", () => Buffer.alloc(12_000_000));
    await using server = await wire(app);
    expect((await server.send("/")).get("etag")).toMatch(/^W\/"/);
  });

  it("Only GET and HEAD with 200 get 304", async () => {
    await using server = await wire(bookApp());
    const headers = { "If-None-Match": "*" };
    const post = await server.send("/book", { method: "POST", headers });
    expect([post.status, post.text]).toEqual([200, '{"title":"Emma"}']);
    expect((await server.send("/missing", { headers })).status).toBe(404);
    expect((await server.send("/throws", { headers })).status).toBe(500);
    expect((await server.send("/nowhere", { headers })).status).toBe(404);
    expect((await server.send("/part", { headers })).status).toBe(206);
    expect((await server.send("/empty", { headers })).status).toBe(204);
  });

  it("Every body gets an entity tag, also for other methods and statuses, except partial and empty ones", async () => {
    await using server = await wire(bookApp());
    expect((await server.send("/book", { method: "POST" })).get("etag")).toBeDefined();
    expect((await server.send("/missing")).get("etag")).toBeDefined();
    expect((await server.send("/part")).get("etag")).toBeUndefined();
    expect((await server.send("/empty")).get("etag")).toBeUndefined();
  });

  it("An entity tag of the handler is kept and used", async () => {
    await using server = await wire(bookApp());
    expect((await server.send("/own")).all("etag")).toEqual(['"mine"']);
    const response = await server.send("/own", { headers: { "If-None-Match": 'W/"mine"' } });
    expect([response.status, response.get("etag")]).toEqual([304, '"mine"']);
  });

  it("A stream has no entity tag unless the handler sets one, and a 304 then ends the stream", async () => {
    const app = new App().enableEtag();
    const ended: string[] = [];
    const stream = (name: string): AsyncIterableIterator<string> => ({
      next: async () => ({ done: ended.push(name) > 0, value: undefined }) as IteratorResult<string>,
      return: async () => {
        ended.push(`${name} returned`);
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    });
    app.get("/stream", () => Response.stream(stream("plain")));
    app.get("/tagged", () => Response.stream(stream("tagged"), { headers: { ETag: '"t"' } }));
    await using server = await wire(app);
    expect((await server.send("/stream", { headers: { "If-None-Match": "*" } })).get("etag")).toBeUndefined();
    expect((await server.send("/tagged", { headers: { "If-None-Match": '"t"' } })).status).toBe(304);
    expect(ended).toEqual(["plain", "tagged", "tagged returned"]);
  });

  it("A body over the configured limit gets no entity tag", async () => {
    const app = new App().enableEtag({ maxSize: 10 });
    app.get("/{size}", (request) => "x".repeat(Number(request.params.size)));
    await using server = await wire(app);
    expect((await server.send("/10")).get("etag")).toBeDefined();
    expect((await server.send("/11")).get("etag")).toBeUndefined();
  });

  it("A route with etag: false has no entity tag", async () => {
    const app = new App().enable_etag();
    app.get("/", { etag: false }, () => "x");
    await using server = await wire(app);
    const response = await server.send("/", { headers: { "If-None-Match": "*" } });
    expect([response.status, response.get("etag")]).toEqual([200, undefined]);
  });

  it("A 304 keeps the headers that caches need, and drops those that describe the body", async () => {
    const app = new App().enableEtag().enableCors(["https://a.example"]).enableRequestId();
    app.get("/", () => {
      const response = new Response("x", {
        headers: {
          "Cache-Control": "max-age=5",
          "Content-Language": "en",
          "Content-Disposition": "inline",
          "Content-Location": "/x",
          Vary: "Accept",
          "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT",
        },
      });
      return response.cookie("a", "b");
    });
    await using server = await wire(app);
    const headers = { "If-None-Match": "*", Origin: "https://a.example" };
    const response = await server.send("/", { headers });
    expect(response.status).toBe(304);
    for (const kept of ["cache-control", "content-location", "last-modified", "set-cookie", "date", "x-request-id"]) {
      expect([kept, response.get(kept)]).toEqual([kept, expect.any(String)]);
    }
    expect(response.get("vary")).toBe("Accept, Origin");
    expect(response.get("access-control-allow-origin")).toBe("https://a.example");
    for (const dropped of ["content-language", "content-disposition", "content-type", "content-length"]) {
      expect([dropped, response.get(dropped)]).toEqual([dropped, undefined]);
    }
  });

  it("A response object that is used again gets one entity tag", async () => {
    const app = new App().enableEtag();
    const same = Response.json({ a: 1 });
    app.get("/", () => same);
    await using server = await wire(app);
    for (let i = 0; i < 3; i++) expect((await server.send("/")).all("etag")).toHaveLength(1);
    expect((await server.send("/", { headers: { "If-None-Match": "*" } })).status).toBe(304);
    expect((await server.send("/")).text).toBe('{"a":1}');
  });

  it("An unknown option of enableEtag() is refused by name", () => {
    expect(() => new App().enableEtag({ maxsize: 1 } as never)).toThrow("did you mean 'maxSize'?");
  });
});
