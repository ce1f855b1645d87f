import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { App } from "stoa";
import { consoleSection, feature, livePanels } from "stoa/feature";
import { saga } from "stoa/saga";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { send } from "../batteries/wire.js";
import { emptyDatabases } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const empty = emptyDatabases(service("postgres"));

const chromium = service("chromium");
const patient = { timeout: 60_000, interval: 50 };
/** A folder for pictures of the pages, for those who want to look at them. */
const pictures = process.env["STOA_PICTURES"];

const sent: string[] = [];
const mail = feature({
  name: "mail",
  prepare(host) {
    const rows = () => ["ada", "bob"].map((to) => [to, { id: to, actions: ["resend"] }]);
    consoleSection(host, {
      title: "Mail",
      path: "/_mail",
      filters: [{ name: "to", label: "To" }],
      view: async (query) => ({
        panels: [
          {
            title: "Mail",
            facts: [{ label: "Sent", value: sent.length, tone: "good" }],
            tables: [
              {
                columns: ["To", ""],
                rows: rows().filter(([to]) => String(to).includes(query.get("to") ?? "")),
                empty: "No mail.",
              },
            ],
          },
        ],
      }),
      actions: { resend: async (id) => void sent.push(id) },
    });
    livePanels(host).add("mail", () => ({ title: "Mail", link: { label: "All mail", href: "/_mail" } }));
  },
});

describe.skipIf(!chromium)("the console in a browser", { timeout: 240_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  let endImport = (): void => {};
  const complaints: string[] = [];
  const order = saga("order")
    .step("reserve", { action: () => 1, compensate: () => {} })
    .step("pay", { action: () => 2 });

  beforeAll(async () => {
    browser = await openBrowser();
    const app = new App().install(mail);
    app.logger = quiet;
    app
      .enableLivePage()
      .enableDatabase(await empty())
      .enableEventSourcing("memory");
    app.enableMemoryBroker().enableOutbox().enableHealthChecks({ version: "2.1", admin: {} });
    app.enableSaga({ admin: {} }).enableJobs({ admin: { path: "/ops/jobs" } });
    app.healthCheck("shop", () => true);
    app.get("/books/{id}", { tags: ["books"], summary: "One book" }, () => ({ title: "Emma" }));
    app.saga(order);
    const job = app.job<string>("report", {}, () => {});
    const limits = { limit: { running: 5 }, keyLimit: { key: () => "k", running: 1, starts: 3, per: "1h" } } as const;
    const long = app.job<null>("import", limits, () => new Promise<void>((resolve) => (endImport = resolve)));
    server = await serve(app, { debug: true });
    await app.eventStore.append("order-1", { type: "OrderPlaced", data: { customer: "Ada" } });
    await app.sagas.start(order, null, { id: "first" });
    await job.enqueue("monthly");
    await long.enqueue(null);
    await vi.waitFor(async () => expect((await app.sagas.get("first"))?.status).toBe("completed"), patient);
    for (const id of [1, 2, 3]) await send(server.url, `/books/${id}`);
    await send(server.url, "/nowhere");
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    endImport();
    await server?.close();
  });

  async function visit(path: string, options: Parameters<Browser["newPage"]>[0] = {}): Promise<Page> {
    const page = await browser.newPage(options);
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(`${server.url}${path}`);
    await page.waitForSelector('#state[data-state="live"]');
    return page;
  }

  const sections = [
    ["Live", "/_stoa", "/books/{id}"],
    ["Events", "/_stoa/event-store", "OrderPlaced"],
    ["Sagas", "/_sagas", "first"],
    ["Jobs", "/ops/jobs", "report"],
    ["Machine", "/_machine", "import 2"],
    ["Mail", "/_mail", "ada"],
  ] as const;

  it("One navigation leads to all sections, and each shows its data", async () => {
    const page = await visit("/_sagas");
    const names = await page.locator("nav a").allTextContents();
    expect([names[0], names.toSorted()]).toEqual(["Live", sections.map(([name]) => name).toSorted()]);
    for (const [name, path, text] of sections) {
      await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
      await page.waitForURL(`${server.url}${path}`);
      await page.locator("main", { hasText: text }).waitFor();
      expect(await page.locator("nav [aria-current=page]").allTextContents()).toEqual([name]);
      expect(await page.title()).toBe(`${name} - Stoa`);
    }
    await page.close();
  });

  it.each([...sections, ["Saga", "/_sagas#first", "reserve"] as const])(
    "The section %s fits narrow and wide screens in light and dark colours",
    async (name, path, text) => {
      const page = await visit(path);
      await page.locator("main", { hasText: text }).waitFor();
      for (const width of [1400, 390]) {
        for (const colorScheme of ["light", "dark"] as const) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme });
          const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
          expect(wide, `${width} ${colorScheme}`).toBeLessThanOrEqual(0);
          if (pictures !== undefined) {
            const file = join(pictures, `console-${name}-${colorScheme}-${width}.png`);
            await page.screenshot({ path: file, fullPage: true });
          }
        }
      }
      await page.close();
    },
  );

  it("A section of a feature from outside has fields, which are in the address, and buttons", async () => {
    const page = await visit("/_mail?to=bob");
    await expect.poll(() => page.locator("tbody tr").count(), patient).toBe(1);
    expect(await page.locator("input[name=to]").inputValue()).toBe("bob");
    await page.getByRole("button", { name: "resend bob" }).click();
    await expect.poll(() => page.locator("dd").textContent(), patient).toBe("1");
    expect(sent).toEqual(["bob"]);
    await page.locator("input[name=to]").fill("");
    await expect.poll(() => page.locator("tbody tr").count(), patient).toBe(2);
    expect(page.url()).toBe(`${server.url}/_mail`);
    await page.close();
  });

  it("The page of the machine names the holder of each lease, and leads to the work", async () => {
    const page = await visit("/_machine");
    const row = page
      .locator(".panel", { has: page.getByRole("heading", { name: "Leases" }) })
      .locator("tr", { hasText: "import 2" });
    await row.waitFor();
    const cells = await row.locator("td").allTextContents();
    expect(cells.slice(0, 4)).toEqual([
      "import 2",
      "held",
      expect.stringMatching(/ [0-9a-f]{8}$/),
      String(process.pid),
    ]);
    const names = page.locator("tr", { has: page.getByRole("cell", { name: "import", exact: true }) }).first();
    const shown = await names.locator("td").allTextContents();
    expect(shown).toEqual(["import", "0", "1", "0", "5 running, each key: 1 running, 3 in 1h", ""]);
    await row.getByRole("link").click();
    await page.waitForURL(`${server.url}/ops/jobs#2`);
    await page.locator("main", { hasText: "Last attempt" }).waitFor();
    await page.close();
  });

  it("The focus stays where it is when a panel changes", async () => {
    const page = await visit("/_mail");
    const button = page.getByRole("button", { name: "resend ada" });
    await button.focus();
    sent.push("eve");
    await expect.poll(() => page.locator("dd").textContent(), patient).toBe(String(sent.length));
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("resend ada");
    await page.close();
  });

  it("The console breaks no rule of its policy", () => {
    expect(complaints).toEqual([]);
  });
});
