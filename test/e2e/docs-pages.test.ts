import { mkdir } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { App, BasicAuth, Blueprint } from "stoa";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { booksApp } from "../../examples/books/app.js";
import { shopApp } from "../../examples/openapi/app.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const chromium = service("chromium");

/** A page, what it asked for and what it complained about. */
interface Visit {
  readonly page: Page;
  readonly requests: string[];
  readonly complaints: string[];
}

describe.skipIf(!chromium)("the API pages in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  const servers: TestServer[] = [];

  beforeAll(async () => {
    browser = await openBrowser("--disable-background-networking");
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all(servers.map((server) => server.close()));
  });

  const start = async (app: App): Promise<string> => {
    const server = await serve(app);
    servers.push(server);
    return server.url;
  };

  const visit = async (address: string): Promise<Visit> => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1400 } });
    const requests: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(address);
    return { page, requests, complaints };
  };

  const picture = async (page: Page, name: string): Promise<void> => {
    const folder = process.env["STOA_TEST_PICTURES"];
    if (folder === undefined) return;
    await mkdir(folder, { recursive: true });
    await page.screenshot({ path: `${folder}/${name}.png` });
  };

  const staysHome = ({ requests, complaints }: Visit, url: string): void => {
    const foreign = requests.filter((address) => !address.startsWith(`${url}/`) && !/^(?:data|blob):/.test(address));
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  };

  it("The API pages link to each other, and Swagger UI is dark for a reader who prefers that", async () => {
    const url = await start(booksApp());
    const page = await browser.newPage({ colorScheme: "dark" });
    await page.goto(`${url}/docs`);
    await page.waitForSelector(".opblock");
    expect(await page.locator("html").getAttribute("class")).toContain("dark-mode");
    const ground: string = await page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(ground).toBe("rgb(28, 32, 34)");
    await picture(page, "swagger-ui-dark");
    await page.locator(".pages a", { hasText: "Reference" }).click();
    await page.waitForURL(`${url}/redoc`);
    expect(await page.locator(".pages a").allTextContents()).toEqual(["Try it", "OpenAPI document"]);
    await page.close();
  });

  it("Redoc is dark for a reader who prefers that", async () => {
    const url = await start(booksApp());
    const page = await browser.newPage({ colorScheme: "dark" });
    const complaints: string[] = [];
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    await page.goto(`${url}/redoc`);
    await page.waitForSelector(".api-content h1");
    expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(28, 32, 34)");
    const text = "getComputedStyle(document.querySelector('.api-content h1')).color";
    expect(await page.evaluate(text)).toBe("rgb(227, 230, 232)");
    const coloursOf = (selector: string): Promise<string[]> =>
      page.evaluate(`(() => {
        const { color, backgroundColor } = getComputedStyle(document.querySelector(${JSON.stringify(selector)}));
        return [color, backgroundColor];
      })()`);
    expect((await coloursOf(".redoc-wrap h5"))[0]).toBe("rgb(170, 178, 184)");
    expect((await coloursOf(".redoc-wrap h5 span"))[0]).toBe("rgb(227, 230, 232)");
    expect(await coloursOf(".react-tabs__tab--selected")).toEqual(["rgb(18, 23, 26)", "rgb(227, 230, 232)"]);
    expect(complaints).toEqual([]);
    await picture(page, "redoc-dark");
    await page.close();
  });

  it("Swagger UI keeps the authorization over a reload", async () => {
    const app = new App().enableOpenapi();
    const staff = new Blueprint("/staff");
    staff.use(new BasicAuth(() => true));
    staff.get("/secret", () => "x");
    app.registerBlueprint(staff);
    const url = await start(app);
    const { page } = await visit(`${url}/docs`);
    await page.locator("button.authorize").first().click();
    await page.locator(".auth-container input").first().fill("ada");
    await page.locator('.auth-container input[type="password"]').fill("secret");
    await page.locator(".auth-btn-wrapper .authorize").click();
    await page.reload();
    await page.waitForSelector(".opblock");
    expect(await page.locator("button.authorize.locked").count()).toBe(1);
    await page.close();
  });

  it("Swagger UI shows the books, and tries a request out", async () => {
    const app = booksApp();
    const url = await start(app);
    await fetch(`${url}/books`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "Emma", author: "Jane Austen" }),
    });
    const visited = await visit(`${url}/docs`);
    const { page } = visited;
    expect(await page.title()).toBe("Books");
    await page.waitForSelector(".opblock-summary");
    const summaries = await page.locator(".opblock-summary-description").allTextContents();
    expect(summaries).toEqual(["List books", "Add a book", "Get one book", "Change a book", "Delete a book"]);
    await page.click("#operations-books-getBooks .opblock-summary-control");
    await page.click("#operations-books-getBooks .try-out__btn");
    await page.click("#operations-books-getBooks button.execute");
    const answer = page.locator("#operations-books-getBooks .live-responses-table");
    await answer.getByText('"Emma"').waitFor();
    expect(await answer.textContent()).toContain("Jane Austen");
    await picture(page, "books-docs");
    staysHome(visited, url);
  });

  it("Swagger UI sends a body that was filled in", async () => {
    const url = await start(booksApp());
    const visited = await visit(`${url}/docs`);
    const { page } = visited;
    const operation = page.locator("#operations-books-postBooks");
    await operation.locator(".opblock-summary-control").click();
    await operation.locator(".try-out__btn").click();
    await operation.locator("textarea.body-param__text").fill('{"title": "Kalevala", "year": 1835}');
    await operation.locator("button.execute").click();
    await operation.locator(".live-responses-table .response-col_status").getByText("201").waitFor();
    const { books } = (await (await fetch(`${url}/books`)).json()) as { books: { title: string }[] };
    expect(books).toMatchObject([{ title: "Kalevala" }]);
    await picture(page, "books-docs-post");
    staysHome(visited, url);
  });

  it("Redoc shows the books, with its search", async () => {
    const url = await start(booksApp());
    const visited = await visit(`${url}/redoc`);
    const { page } = visited;
    expect(await page.title()).toBe("Books");
    await page.getByRole("heading", { name: "Add a book" }).waitFor();
    // Its styles are added by script, which the policy must allow.
    expect(await page.evaluate("getComputedStyle(document.querySelector('.menu-content')).position")).toBe("sticky");
    await picture(page, "books-redoc");
    await page.getByPlaceholder("Search...").fill("delete");
    await page.locator("[data-role='search:results'] li").first().waitFor();
    staysHome(visited, url);
  });

  it.each(["docs", "redoc"])("A larger API is shown in /%s", async (path) => {
    const url = await start(shopApp());
    const visited = await visit(`${url}/${path}`);
    await visited.page.getByText("Place an order").filter({ visible: true }).first().waitFor();
    await picture(visited.page, `shop-${path}`);
    staysHome(visited, url);
  });

  it.each(["docs", "redoc"])("No script of a hostile title, description or path runs in /%s", async (path) => {
    const hostile = `</title></script><script>alert(1)</script><img src=x onerror="alert(2)">"'`;
    const app = new App();
    const description = `${hostile} [click](javascript:alert(3)) <iframe srcdoc="<script>alert(4)</script>"></iframe>`;
    app.get(`/a/</script><script>alert(5)</script>`.replaceAll(" ", ""), { summary: hostile, description }, () => "");
    app.get("/b", { tags: [hostile], description, deprecated: true }, () => "");
    app.enableOpenapi({ title: hostile, version: hostile, description, tags: { [hostile]: description } });
    const url = await start(app);
    const { page, complaints, requests } = await visit(`${url}/${path}`);
    expect(await page.title()).toBe(hostile);
    await page.getByText("</title></script>").first().waitFor();
    await picture(page, `hostile-${path}`);
    expect(complaints.filter((text) => text.startsWith("dialog"))).toEqual([]);
    expect(await page.evaluate("document.querySelectorAll('script:not([nonce]), iframe').length")).toBe(0);
    expect(requests.filter((address) => !address.startsWith(url) && !/^(?:data|blob):/.test(address))).toEqual([]);
  });
});
