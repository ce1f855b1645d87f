import { App, ForbiddenError } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";

describe.each(["net", "node"] as const)("the path that middleware sees on the %s transport", (transport) => {
  it("Middleware that protects a path by its beginning is not passed by escapes, and the raw target is still there", async () => {
    const app = new App();
    app.use({
      name: "protect",
      before(request) {
        if (request.path.startsWith("/admin")) throw new ForbiddenError();
      },
    });
    app.get("/admin/{page}", () => "secret");
    app.get("/open/{page}", (request) => ({ path: request.path, url: request.url }));
    await using server = await serve(app, { debug: false, transport });
    for (const path of ["/admin/a", "/%61dmin/a", "/%61%64%6D%69%6e/a", "/ad%6din/%61"]) {
      expect([path, (await fetch(server.url + path)).status]).toEqual([path, 403]);
    }
    const open = (await (await fetch(`${server.url}/op%65n/%2f%7E?a=%61`)).json()) as { path: string; url: string };
    expect(open.path).toBe("/open/%2f~");
    expect(open.url).toContain("/op%65n/%2f%7E?a=%61");
  });
});
