import type { Browser, Page } from "playwright-core";
import { App, Role } from "stoa";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { livePanels } from "../../src/console/panels.js";
import { send } from "../batteries/wire.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const chromium = service("chromium");
const hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";

function watchedApp(): App {
  const app = new App().enableLivePage();
  const nothing = (): void => {};
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
  app.logger = logger;
  app.get("/books/{id}", { tags: ["books"], summary: "One book" }, () => ({ a: 1 }));
  app.delete("/books/{id}", { tags: [hostile], summary: hostile, guards: [new Role("admin")] }, () => null);
  app.get("/fails", () => {
    throw new TypeError(hostile, { cause: new Error("the shelf is empty") });
  });
  app.healthCheck("database", () => true);
  app.healthCheck("mail", () => ({ status: "DEGRADED", message: hostile }));
  return app;
}

describe.skipIf(!chromium)("the live page in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());
  afterEach(() => server?.close());

  /** The page, what it asked for and what it complained about. */
  async function visit(
    colorScheme: "light" | "dark" = "light",
  ): Promise<{ page: Page; asked: string[]; complaints: string[] }> {
    server = await serve(watchedApp(), { debug: true });
    const page = await browser.newPage({ colorScheme });
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(`${server.url}/_stoa`);
    await page.waitForSelector('#state[data-state="live"]');
    return { page, asked, complaints };
  }

  it("The live page shows routes, health and finished requests without further requests of its own", async () => {
    const { page, asked, complaints } = await visit();
    const [health, routes] = [page.locator("#side .panel").nth(0), page.locator("#side .panel").nth(1)];
    await expect.poll(() => routes.locator("> .scroll tr").count()).toBe(3);
    const internal = routes.locator("details tr");
    expect(await internal.count()).toBe(2);
    expect(await internal.first().isVisible()).toBe(false);
    await routes.locator("summary").click();
    expect(await internal.first().isVisible()).toBe(true);
    expect(await routes.locator("tr", { hasText: "DELETE" }).textContent()).toContain("Role(admin)");
    await expect.poll(() => health.locator("tr").count()).toBe(3);
    expect(await health.locator(".bar .badge").textContent()).toBe("DEGRADED");
    expect(await page.locator("#no-requests").isVisible()).toBe(true);

    await send(server.url, "/books/7");
    const row = page.locator("#rows tr.request").first();
    await row.waitFor();
    expect(await row.locator("td").allTextContents()).toEqual([
      expect.any(String),
      "GET",
      "/books/7",
      "200",
      expect.any(String),
      "7 B",
    ]);
    await expect.poll(() => routes.locator("tr", { hasText: "One book" }).textContent()).toContain("1 ×");
    await expect.poll(() => page.locator("#requests-card path.stroke").count()).toBe(2);
    expect(asked.filter((url) => !url.startsWith("data:"))).toEqual([
      `${server.url}/_stoa`,
      `${server.url}/_stoa/events`,
    ]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("The live page shows errors with their stack, filters them, and runs nothing of their text", async () => {
    const { page, complaints } = await visit();
    await send(server.url, `/nowhere/${hostile.replaceAll(" ", "%20")}`);
    await send(server.url, "/books/1");
    await send(server.url, "/fails");
    await expect.poll(() => page.locator("#rows tr.request").count()).toBe(3);
    await page.locator('[data-value="5xx"]').click();
    expect(await page.locator("#rows tr.request").count()).toBe(1);
    await page.locator("#rows tr.request button").click();
    expect(await page.locator(".detail .error").textContent()).toBe(`TypeError: ${hostile}`);
    expect(await page.locator(".detail .cause").textContent()).toBe("caused by Error: the shelf is empty");
    expect(await page.locator(".detail pre").textContent()).toContain("live-page.test.ts");
    await page.locator('[data-value=""]').click();
    await page.locator("input[name=text]").fill("books/1");
    expect(await page.locator("#rows tr.request").count()).toBe(1);
    await page.locator("input[name=text]").fill("no such thing");
    expect(await page.locator("#no-requests").textContent()).toBe("No request matches.");
    expect(await page.locator("img").count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("The live page does not change while it is paused, and catches up afterwards", async () => {
    const { page } = await visit();
    await page.locator("#pause").click();
    await send(server.url, "/books/1");
    const seen = page.waitForResponse((response) => response.url().endsWith("/books/2"));
    await page.evaluate(() => fetch("/books/2").then((response) => response.text()));
    await seen;
    // Two of its looks later the server has told of both.
    await page.waitForTimeout(600);
    expect(await page.locator("#rows tr.request").count()).toBe(0);
    await page.locator("#pause").click();
    await expect.poll(() => page.locator("#rows tr.request").count()).toBe(2);
    await page.close();
  });

  it("The live page reconnects by itself when the server returns", async () => {
    const { page } = await visit();
    const { port } = server.address;
    await server.close();
    await page.waitForSelector('#state[data-state="lost"]');
    const running = await watchedApp().run({ port, exit: false, env: "development", banner: false, logs: false });
    try {
      await page.waitForSelector('#state[data-state="live"]');
    } finally {
      await running.close();
      await page.close();
    }
  });

  it("Features show their state in panels of the live page, which follow it", async () => {
    const app = watchedApp();
    let waiting = 3;
    livePanels(hostOf(app)).add("queue", () => ({
      title: "Queue",
      facts: [{ label: "Waiting", value: waiting, tone: "warning" }],
      tables: [{ title: "Oldest", columns: ["Id", "Topic"], rows: [[1, hostile]], empty: "Nothing waits." }],
      link: { label: "All messages", href: "/messages" },
    }));
    livePanels(hostOf(app)).add("broken", () => Promise.reject(new Error("the engine is away")));
    server = await serve(app, { debug: true });
    const page = await browser.newPage({ viewport: { width: 400, height: 800 } });
    await page.goto(`${server.url}/_stoa`);
    await page.waitForSelector('#state[data-state="live"]');
    const panel = page.locator("#panels .panel").first();
    await expect.poll(() => panel.locator("dd").textContent()).toBe("3");
    expect(await panel.locator("td").allTextContents()).toEqual(["1", hostile]);
    expect(await panel.locator("a").getAttribute("href")).toBe("/messages");
    expect(await page.locator("#panels .panel").nth(1).textContent()).toContain("the engine is away");
    waiting = 4;
    await expect.poll(() => panel.locator("dd").textContent(), { timeout: 10_000 }).toBe("4");
    const cards = await page.locator("#charts .card").all();
    const boxes = await Promise.all(cards.map((card) => card.boundingBox()));
    expect(boxes[0]!.y).toBe(boxes[1]!.y);
    expect(boxes[2]!.y).toBeGreaterThan(boxes[0]!.y);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(400);
    await page.close();
  });

  it("A panel of the live page keeps the place of its table when its values change, and shows a cut text after a click", async () => {
    const app = watchedApp();
    const statement = "select ".repeat(30);
    let waiting = 3;
    livePanels(hostOf(app)).add("queue", () => ({
      title: "Queue",
      facts: [{ label: "Waiting", value: waiting }],
      tables: [
        { title: "Slowest", columns: ["Id", "Statement", "Caller"], rows: [[1, statement, statement]], empty: "" },
      ],
    }));
    livePanels(hostOf(app)).add("same", () => ({ title: "Same", facts: [{ label: "Waiting", value: 1 }] }));
    server = await serve(app, { debug: true });
    const page = await browser.newPage({ viewport: { width: 400, height: 800 } });
    await page.goto(`${server.url}/_stoa`);
    const cell = page.locator("#panels td").nth(1);
    await cell.waitFor();
    const heightOf = async (): Promise<number> => (await cell.boundingBox())!.height;
    const cut = await heightOf();
    await cell.click();
    expect(await heightOf()).toBeGreaterThan(cut);
    const scrolled = "document.querySelector('#panels .scroll').scrollLeft";
    await page.evaluate(`${scrolled} = 40; document.querySelectorAll("#panels .panel")[1].dataset.mine = "yes"`);
    waiting = 4;
    const value = page.locator("#panels dd").first();
    await expect.poll(() => value.textContent(), { timeout: 30_000 }).toBe("4");
    expect(await page.evaluate(scrolled)).toBe(40);
    expect(await page.locator("#panels .panel").nth(1).getAttribute("data-mine")).toBe("yes");
    await page.close();
  });

  it("The live page is light or dark as its reader prefers", async () => {
    const ground = (page: Page): Promise<string> => page.evaluate("getComputedStyle(document.body).backgroundColor");
    const light = await visit("light");
    expect(await ground(light.page)).toBe("rgb(246, 245, 241)");
    await light.page.close();
    await server.close();
    const dark = await visit("dark");
    expect(await ground(dark.page)).toBe("rgb(21, 20, 18)");
    await dark.page.close();
  });
});
