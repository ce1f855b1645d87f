import type { Browser } from "playwright-core";
import { App } from "stoa";
import { MessagingError } from "stoa/messaging";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { MemoryBroker } from "../../src/engines/messaging/memory/memory-broker.js";
import { messagingState } from "../../src/engines/messaging/state.js";
import { emptyDatabases } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const empty = emptyDatabases(service("postgres"));

const chromium = service("chromium");

class PickyBroker extends MemoryBroker {
  override async publish(records: Parameters<MemoryBroker["publish"]>[0]) {
    const outcomes = await super.publish(records.filter(({ topic }) => topic !== "invoices"));
    const refused = new MessagingError("REFUSED", "no exchange 'invoices' in vhost 7");
    return records.map(({ topic }) => (topic === "invoices" ? refused : (outcomes[0] ?? null)));
  }
}

describe.skipIf(!chromium)("messages on the live page", { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  const app = new App();
  beforeAll(async () => {
    app.logger = quiet;
    app
      .enableDatabase(await empty())
      .enableMemoryBroker()
      .enableLivePage();
    app.enableOutbox({ attempts: 1 });
    messagingState(hostOf(app)).replacement = () => new PickyBroker();
    app.onMessage("orders", { inbox: true, retry: { attempts: 2, delay: 0.001 } }, (message) => {
      if (message.value === "bad") throw new Error("no stock");
    });
    app.onMessage("payments", { group: "accounting" }, () => {});
    server = await serve(app, { debug: true });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it("The live page shows consumers with their lag and results, and the backlog and the failures of the outbox", async () => {
    await app.database.transaction(async (tx) => {
      for (const value of ["good", "good", "bad"]) await tx.publish("orders", value);
      for (const value of [1, 2]) await tx.publish("invoices", value, { key: "k" });
      await tx.publish("orders", "later", { delay: 3600 });
    });
    const page = await browser.newPage({ viewport: { width: 1100, height: 1400 } });
    await page.goto(`${server.url}/_stoa`);
    const panel = page.locator("#panels .panel", { hasText: "Messages" });
    const row = (text: string) => panel.locator("tr", { hasText: text }).locator("td").allTextContents();
    const patient = { timeout: 30_000 };
    await expect.poll(async () => (await row("orders")).join(), patient).toBe("orders,stoa,connected,0,0,2,0,1,0,1");
    await expect
      .poll(async () => (await row("payments")).join(), patient)
      .toBe("payments,accounting,connected,0,0,0,0,0,0,0");
    await expect
      .poll(async () => (await row("invoices")).slice(0, 4).join(), patient)
      .toBe("invoices,REFUSED: no exchange 'invoices' in vhost #,1,1");
    const facts = async () =>
      Object.fromEntries(
        await Promise.all(
          (await panel.locator("dt").all()).map(async (label, index) => [
            await label.textContent(),
            await panel.locator("dd").nth(index).textContent(),
          ]),
        ),
      );
    await expect.poll(facts, patient).toMatchObject({
      Brokers: "memory",
      "Outbox, ready": "0",
      "Outbox, delayed": "1",
      "Outbox, stuck": "1",
      "Outbox, held behind them": "1",
      "Outbox, published by this process": "yes",
    });
    if (process.env["STOA_SCREENSHOT"]) await page.screenshot({ path: process.env["STOA_SCREENSHOT"], fullPage: true });
    await page.close();
  });
});
