import type { Browser } from "playwright-core";
import { App } from "stoa";
import { createTables, field, Model } from "stoa/orm";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyDatabases } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const empty = emptyDatabases(service("postgres"));

const chromium = service("chromium");

class Shelf extends Model("panel_shelves", {
  id: field.auto(),
  name: field.text(),
  get boxes() {
    return field.reverse(() => Box, "shelf");
  },
}) {}
class Box extends Model("panel_boxes", { id: field.auto(), shelf: field.foreignKey(() => Shelf) }) {}

describe.skipIf(!chromium)("statements on the live page", { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  const app = new App();
  beforeAll(async () => {
    app.logger = quiet;
    app.enableDatabase(await empty()).enableLivePage();
    app.get("/shelves", async () => {
      const counts: number[] = [];
      for (const shelf of await Shelf.objects.orderBy("id")) counts.push(await shelf.boxes.count());
      return counts;
    });
    app.get("/slow/{name}", async (request) => ({ found: await request.db.fetchval("select pg_sleep(0.25)") }));
    server = await serve(app, { debug: true });
    await createTables(app.database, [Shelf, Box]);
    for (let n = 0; n < 7; n++) await Box.objects.create({ shelf: await Shelf.objects.create({ name: `s${n}` }) });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it("The live page shows statements per request, the slowest, and an N+1 with its cure, without any option", async () => {
    expect(await (await fetch(`${server.url}/shelves`)).text()).toBe("[1,1,1,1,1,1,1]");
    await fetch(`${server.url}/slow/hunter2`);
    const page = await browser.newPage({ viewport: { width: 1400, height: 1400 } });
    await page.goto(`${server.url}/_stoa`);
    const panel = page.locator("#panels .panel", { hasText: "Database statements" });
    const rows = async (table: number): Promise<string[][]> => {
      const found = await panel.locator("table").nth(table).locator("tbody tr").all();
      return Promise.all(found.map((row) => row.locator("td").allTextContents()));
    };
    const patient = { timeout: 30_000 };
    await expect.poll(async () => (await rows(0)).length, patient).toBe(1);
    const [[route, times, , caller, statement, cure] = []] = await rows(0);
    expect([route, times]).toEqual(["/shelves", "7"]);
    expect(caller).toMatch(/statements-panel\.test\.ts:\d+$/);
    expect(statement).toContain("panel_boxes");
    expect(cure).toBe('prefetchRelated("boxes") in the query for Shelf');
    expect((await rows(1)).map(([name, requests, , most]) => [name, requests, most])).toEqual([
      ["/shelves", "1", "8"],
      ["/slow/{name}", "1", "1"],
    ]);
    const slow = (await rows(2)).find(([, , name]) => name === "/slow/{name}") ?? [];
    expect(Number(slow[0])).toBeGreaterThanOrEqual(250);
    expect([slow[1], slow[4]]).toEqual(["1", "select pg_sleep(?)"]);
    expect(await panel.textContent()).not.toContain("hunter2");
    if (process.env["STOA_SCREENSHOT"]) await page.screenshot({ path: process.env["STOA_SCREENSHOT"], fullPage: true });
    await page.close();
  });
});
