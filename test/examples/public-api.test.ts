import { describe, expect, it } from "vitest";
import { publicApi } from "../../examples/public-api/app.js";
import { wire } from "../batteries/support.js";

describe("the public API example", () => {
  it("The public API example admits its site, keeps request ids and limits bodies", async () => {
    const site = "https://site.example";
    await using server = await wire(publicApi(site));
    const body = JSON.stringify({ text: "remember" });
    const headers = { Origin: site, "X-Request-ID": "mine", "Content-Type": "application/json" };
    const saved = await server.send("/notes/a", { method: "PUT", headers, body });
    expect([saved.status, saved.get("access-control-allow-origin"), saved.get("x-request-id")]).toEqual([
      200,
      site,
      "mine",
    ]);
    expect(saved.get("access-control-allow-credentials")).toBe("true");
    expect(JSON.parse((await server.send("/notes/a")).text)).toEqual({ text: "remember" });
    for (const wrong of ["null", "[]", '{"text": 1}']) {
      expect((await server.send("/notes/a", { method: "PUT", headers, body: wrong })).status).toBe(400);
    }
    const large = Buffer.alloc(64 * 1024 + 1);
    expect((await server.send("/notes/a", { method: "PUT", headers, body: large })).status).toBe(413);
    expect((await server.send("/pictures", { method: "POST", body: large })).status).toBe(200);
  });
});
