import type { Browser } from "playwright-core";
import { App } from "stoa";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { send } from "../batteries/wire.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const chromium = service("chromium");
const hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";

function ledger(): App {
  const app = new App().enableLivePage().enableEventSourcing({ storeType: "memory" });
  const nothing = (): void => {};
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
  app.logger = logger;
  app.eventStore.subscribe({ name: "mail", categories: ["order"] }, async (event) => {
    if (event.type === "OrderPlaced") {
      await app.eventStore.append("mail-1", { type: "MailSent", data: { to: "ada", text: hostile } });
    }
  });
  app.get("/", () => null);
  return app;
}

describe.skipIf(!chromium)("the page of events in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  let app: App;
  beforeAll(async () => {
    browser = await openBrowser();
    app = ledger();
    server = await serve(app, { debug: true });
    await app.eventStore.append("order-1", [
      { type: "OrderPlaced", data: { customer: "Ada", note: hostile } },
      { type: "ItemAdded", data: { sku: "tea", price: 5, tags: ["a", "b"] } },
    ]);
    await app.eventStore.append(`order-${hostile}`, { type: hostile, data: hostile });
    // The subscription has also handled the last event.
    await vi.waitFor(
      async () => {
        expect((await app.eventStore.read("mail-1")).length).toBe(1);
        expect(app.eventStore.progress[0]?.lag).toBe(0);
      },
      { timeout: 20_000, interval: 20 },
    );
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it("The page shows streams, events with their data, the chain of causes and subscriptions", async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    const asked: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(`${server.url}/_stoa`);
    await page.waitForSelector('#state[data-state="live"]');
    await page.getByRole("link", { name: "Streams and events" }).click();
    page.on("request", (request) => asked.push(request.url()));
    await expect.poll(() => page.locator(".entries li").count()).toBe(4);
    expect(await page.locator("#side td", { hasText: /^mail$/ }).count()).toBe(1);

    await page.locator("#side a", { hasText: /^order-1$/ }).click();
    await expect.poll(() => page.locator(".entries li b").allTextContents()).toEqual(["ItemAdded", "OrderPlaced"]);
    await page.locator(".entries li summary").first().click();
    expect(await page.locator(".entries li pre").first().textContent()).toContain('"price": 5');

    await page.locator(".entries li", { hasText: "OrderPlaced" }).getByRole("link", { name: "chain" }).click();
    await expect.poll(() => page.locator(".entries li b").allTextContents()).toEqual(["OrderPlaced", "MailSent"]);
    expect(await page.locator(".entries li").nth(1).getAttribute("class")).toBe("depth-1");
    expect(await page.locator(".entries li pre").allTextContents()).toContainEqual(expect.stringContaining(hostile));

    await page.locator("input[name=stream]").fill(`order-${hostile}`);
    await expect.poll(() => page.locator(".entries li b").allTextContents()).toEqual([hostile]);
    expect(complaints).toEqual([]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([new URL(server.url).origin]));
    await page.close();
  });

  it.each([
    ["a wide light", { width: 1400, height: 900 }, "light"],
    ["a narrow light", { width: 390, height: 844 }, "light"],
    ["a wide dark", { width: 1400, height: 900 }, "dark"],
    ["a narrow dark", { width: 390, height: 844 }, "dark"],
  ] as const)("The page of events fits %s screen without scrolling sideways", async (_name, viewport, colorScheme) => {
    const page = await browser.newPage({ viewport, colorScheme });
    for (const query of ["", "?stream=order-1"]) {
      await page.goto(`${server.url}/_stoa/event-store${query}`);
      await page.waitForSelector(".entries li");
      const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(wide).toBeLessThanOrEqual(0);
      const folder = process.env["STOA_SCREENSHOTS"];
      if (folder)
        await page.screenshot({
          path: `${folder}/${_name.replaceAll(" ", "-")}${query.slice(0, 7)}.png`,
          fullPage: true,
        });
    }
    await page.close();
  });

  it("The page of events is refused to other hosts and sites, and absent in production", async () => {
    for (const path of ["/_stoa/event-store", "/_stoa/event-store/view"]) {
      const get = (headers: Record<string, string>) => send(server.url, path, { headers });
      expect((await get({})).status).toBe(200);
      expect((await get({ host: "evil.example" })).status).toBe(403);
      expect((await get({ origin: "https://evil.example" })).status).toBe(403);
    }
    const headers = { "sec-fetch-site": "cross-site" };
    expect((await send(server.url, "/_stoa/event-store/view", { headers })).status).toBe(403);
    const production = await serve(ledger(), { debug: false });
    expect((await send(production.url, "/_stoa/event-store")).status).toBe(404);
    for (const name of ["%00", "a".repeat(256)]) {
      expect((await send(server.url, `/_stoa/event-store/view?stream=${name}`)).status).toBe(400);
      expect((await send(server.url, `/_stoa/event-store/view?correlation=${name}`)).status).toBe(400);
    }
    await production.close();
  });
});
