import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { App } from "stoa";
import { JobRefused } from "stoa/jobs";
import { StepRefused, saga } from "stoa/saga";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyDatabases } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const empty = emptyDatabases(service("postgres"));

const chromium = service("chromium");
const hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";
const patient = { timeout: 60_000, interval: 50 };
/** A folder for pictures of the pages, for those who want to look at them. */
const pictures = process.env["STOA_PICTURES"];

describe.skipIf(!chromium)("the pages of sagas and jobs in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  let app: App;
  let broken = true;
  const complaints: string[] = [];

  const child = saga("shipping")
    .step("pack", { action: () => "packed", compensate: () => {} })
    .step("label", { action: () => "label", compensate: () => {} });
  const checkout = saga<{ fails: boolean }>("checkout")
    .step("reserve", {
      action: ({ attempt }) => {
        if (attempt < 3) throw new Error("the stock does not respond");
        return { reservation: 7 };
      },
      compensate: () => {
        if (broken) throw new Error(hostile);
      },
      compensateRetries: 1,
    })
    .parallel({
      price: { action: () => new Promise((resolve) => setTimeout(resolve, 40)), compensate: () => {} },
      tax: { action: () => new Promise((resolve) => setTimeout(resolve, 80)), compensate: () => {} },
    })
    .sleep("cool-off", "60ms")
    .child("shipping", child, null)
    .step("pay", {
      action: ({ input }) => {
        if (input.fails) throw new StepRefused(hostile);
      },
    })
    .waitFor("receipt");

  beforeAll(async () => {
    browser = await openBrowser();
    app = new App();
    app.logger = quiet;
    app
      .enableDatabase(await empty())
      .enableSaga({ backoff: "30ms", admin: {} })
      .enableJobs({ admin: {} });
    app.saga(checkout);
    const job = app.job<string>("report", { retries: 0 }, async (value, { progress }) => {
      await progress({ done: 3, total: 4 });
      if (value === hostile) throw new JobRefused(hostile);
    });
    server = await serve(app, { debug: true });
    await app.sagas.start(checkout, { fails: true }, { id: "fails" });
    await app.sagas.start(checkout, { fails: false }, { id: "waits" });
    await job.enqueue(hostile);
    await job.enqueue("fine");
    await vi.waitFor(async () => expect((await app.sagas.get("fails"))?.status).toBe("parked"), patient);
    await vi.waitFor(async () => expect((await app.sagas.get("waits"))?.status).toBe("waiting"), patient);
    await vi.waitFor(async () => expect((await app.jobs.counts()).waiting).toBe(0), patient);
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  async function visit(path: string, colorScheme: "light" | "dark" = "light", width = 1200): Promise<Page> {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(`${server.url}${path}`);
    // The policy of the page forbids what `waitForFunction` does.
    await expect.poll(() => page.locator("#facts").textContent(), patient).toMatch(/^as of/);
    return page;
  }

  const picture = async (page: Page, name: string): Promise<void> => {
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  };

  it("The list filters by status and leads to an execution", async () => {
    const page = await visit("/_sagas");
    expect(await page.locator("#panels tbody tr").count()).toBe(4);
    await page.click('[data-value="parked"]');
    await expect.poll(() => page.locator("#panels tbody tr").count(), patient).toBe(1);
    await picture(page, "list");
    await page.click("#panels tbody a");
    await page.waitForSelector(".flow .unit");
    expect(await page.textContent("#panels h2")).toBe("checkout");
    await page.close();
  });

  it("The response to an earlier call that arrives after that of a later one is not shown", async () => {
    const page = await visit("/_sagas");
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route(/view\?.*name=s$/, async (route) => {
      await held;
      await route.continue();
    });
    const late = page.waitForResponse(/view\?.*name=s$/);
    await page.locator("input[name=name]").pressSequentially("shipping");
    const names = () => page.locator("#panels td:nth-child(2)").allTextContents();
    await expect.poll(names, patient).toEqual(["shipping", "shipping"]);
    letGo();
    await (await late).finished();
    expect(await names()).toEqual(["shipping", "shipping"]);
    await page.close();
  });

  it("An execution is drawn with states, attempts, errors as text and the way back, in any width and colour", async () => {
    for (const [scheme, width] of [
      ["light", 1200],
      ["dark", 1200],
      ["light", 390],
      ["dark", 390],
    ] as const) {
      const page = await visit("/_sagas#fails", scheme, width);
      await page.waitForSelector(".flow .unit");
      const states = await page.$$eval(".flow .unit", (units) =>
        units.map((unit) => `${unit.getAttribute("data-step")} ${unit.getAttribute("data-state")}`),
      );
      expect(states).toEqual([
        "reserve parked",
        "price undone",
        "tax undone",
        "cool-off done",
        "shipping undone",
        "pay failed",
        "receipt ",
      ]);
      expect(await page.textContent('[data-step="reserve"] .what')).toContain("3 attempts");
      expect(await page.textContent('[data-step="reserve"]')).toContain("compensation, attempt 2: ");
      expect(await page.textContent('[data-step="pay"]')).toContain(hostile);
      expect(await page.locator(".unit.undo").count()).toBe(4);
      // Nothing is wider than the screen.
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      expect(wide).toBeLessThanOrEqual(0);
      await picture(page, `saga-${scheme}-${width}`);
      await page.close();
    }
    const waiting = await visit("/_sagas#waits");
    await waiting.waitForSelector('[data-step="receipt"][data-state="waiting"]');
    await picture(waiting, "saga-waits");
    await waiting.close();
  });

  it("A parked saga is resumed by its button", async () => {
    const page = await visit("/_sagas#fails");
    broken = false;
    await page.click('[data-action="resume"]');
    await page.waitForSelector('[data-step="reserve"][data-state="undone"]');
    await page.locator("#panels .bar .badge", { hasText: "compensated" }).waitFor();
    await picture(page, "saga-compensated");
    await page.close();
  });

  it("Jobs are shown with their progress and retried by their button", async () => {
    const page = await visit("/_jobs");
    // The names, and the jobs below them.
    expect(await page.locator("#panels table >> nth=0").locator("tbody tr").count()).toBe(1);
    expect(await page.locator("#panels table >> nth=1").locator("tbody tr").count()).toBe(2);
    expect(await page.locator("progress").count()).toBe(2);
    await picture(page, "jobs");
    await page.click('[data-action="retry"]');
    await vi.waitFor(async () => {
      const { finishedAt } = (await app.jobs.list({ status: "failed" }))[0]!;
      expect(finishedAt).not.toBeNull();
    }, patient);
    await page.click('[data-action="pause"]');
    await page.waitForSelector('[data-action="resume"]');
    expect(await app.jobs.names()).toEqual([expect.objectContaining({ name: "report", paused: true })]);
    await page.click('[data-action="resume"]');
    await page.waitForSelector('[data-action="pause"]');
    expect(await app.jobs.names()).toEqual([expect.objectContaining({ paused: false })]);
    await page.click("#panels tbody a >> nth=0");
    await page.waitForSelector("#panels pre");
    await page.close();
  });

  it("The pages break no rule of their policy and run nothing that came with the data", () => {
    expect(complaints).toEqual([]);
  });
});
