import { App } from "stoa";
import { command, query } from "stoa/cqrs";
import { serve, type TestServer } from "stoa/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { send } from "../../batteries/wire.js";
import { quiet } from "../events/stores.js";

describe("the documentation of routes of commands and queries", () => {
  let server: TestServer | undefined;
  afterEach(() => server?.close());

  /** The operations of `/openapi.json`, as a client receives them. */
  const operations = async (app: App) => {
    server = await serve(app);
    const { text } = await send(server.url, "/openapi.json");
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, unknown>> };
    return {
      place: paths["/orders/{shop}"]!["post"],
      wait: paths["/orders"]!["post"],
      count: paths["/orders"]!["get"],
    };
  };
  const routed = (): App => {
    const app = new App().enableOpenapi().enableCqrs();
    app.logger = quiet;
    const place = command("place", { schema: z.object({ id: z.string() }), handler: ({ id }) => ({ id }) });
    const wait = command("wait", { handler: () => ({ waited: true }) });
    const count = query("count", { schema: z.object({ since: z.string() }), handler: () => 0 });
    app.post("/orders/{shop}", ...app.commands.route(place));
    app.post("/orders", ...app.commands.route(wait));
    app.get("/orders", ...app.queries.route(count));
    return app;
  };
  const key = {
    name: "Idempotency-Key",
    in: "header",
    description: expect.stringContaining("have their effect once"),
    required: false,
    schema: { type: "string", minLength: 1, maxLength: 255 },
  };

  it("The header Idempotency-Key is an optional parameter of every command, beside those of its path", async () => {
    // The database may be enabled after the routes are added.
    const { place, wait, count } = await operations(routed().enableDatabase("pglite:"));
    expect(place).toMatchObject({ parameters: [{ name: "shop", in: "path" }, key], responses: { 400: {}, 409: {} } });
    expect(wait).toMatchObject({ parameters: [key], responses: { 400: {}, 409: {}, 504: {} } });
    expect(count).toMatchObject({ parameters: [{ name: "since", in: "query" }] });
  });

  it("The header Idempotency-Key is not documented without a database, as it is refused then", async () => {
    const { place, wait } = await operations(routed());
    expect(place).toMatchObject({ parameters: [{ name: "shop", in: "path" }] });
    expect(wait).not.toHaveProperty("parameters");
    const headers = { "idempotency-key": "k" };
    expect((await send(server!.url, "/orders", { method: "POST", headers })).status).toBe(400);
  });
});
