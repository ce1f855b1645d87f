import { App } from "stoa";
import { consoleSection, feature } from "stoa/feature";
import { expect, it } from "vitest";

const page = (guards: readonly (() => boolean)[], wiped: string[]) =>
  feature({
    name: "operations",
    install() {},
    prepare: async (host) =>
      consoleSection(host, {
        title: "Operations",
        path: "/_ops",
        hosts: ["ops.example.com"],
        guards,
        actions: { wipe: async (id) => wiped.push(id) },
      }),
  });

it("The guards of a section run, also if it names further hosts", async () => {
  const wiped: string[] = [];
  const app = new App();
  app.install(page([() => false], wiped));
  const response = await app.request("/_ops/act", {
    method: "POST",
    headers: { host: "ops.example.com", "content-type": "application/json" },
    body: JSON.stringify({ id: "all", action: "wipe" }),
  });
  expect(response.status).toBe(403);
  expect(wiped).toEqual([]);
  await app.stop();
});
