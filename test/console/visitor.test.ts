import { App } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { checkMachine } from "../../src/console/visitor.js";
import { send } from "../batteries/wire.js";

describe("a page for the same machine", () => {
  it("A page for the same machine refuses forwarded requests, whatever address they claim", async () => {
    const app = new App().trustProxy("loopback");
    app.get("/", (request) => {
      checkMachine(request);
      return "ok";
    });
    await using server = await serve(app);
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await send(server.url, "/", { headers: { host: "localhost", ...headers } })).status;
    expect(await status({})).toBe(200);
    for (const client of ["172.17.0.1", "127.0.0.1"]) expect(await status({ "x-forwarded-for": client })).toBe(403);
    expect(await status({ host: "evil.example" })).toBe(403);
  });
});
