import type { Browser } from "playwright-core";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { graphqlApp } from "../apis/graphql/support.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const chromium = service("chromium");
const hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";

function greetingApp() {
  return graphqlApp({
    typeDefs: `
      type Query { hello(name: String): String! }
      type Subscription { count(to: Int!): Int! }
    `,
    resolvers: {
      Query: { hello: (_parent, { name }) => `hello ${name ?? hostile}` },
      Subscription: {
        count: {
          async *subscribe(_parent, { to }: { to: number }) {
            for (let count = 1; count <= to; count++) yield { count };
          },
        },
      },
    },
  });
}

describe.skipIf(!chromium)("the playground in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());
  afterEach(() => server?.close());

  it("The playground runs a query and a subscription, shows hostile data as text, and loads nothing from other hosts", async () => {
    server = await serve(greetingApp(), { debug: true });
    const page = await browser.newPage();
    const foreign: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !/^(?:data|blob):/.test(request.url())) foreign.push(request.url());
    });
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const run = async (query: string): Promise<void> => {
      await page.goto(`${server.url}/graphql?query=${encodeURIComponent(query)}`);
      await page.waitForSelector(".graphiql-query-editor .CodeMirror-code", { timeout: 60_000 });
      await page.click(".graphiql-execute-button");
    };
    const result = async (): Promise<string> =>
      ((await page.locator(".result-window .CodeMirror-code").textContent()) ?? "").replaceAll("\u00a0", " ");
    await run("{ hello }");
    await expect.poll(result, { timeout: 60_000 }).toContain("alert(1)");
    await run("subscription { count(to: 3) }");
    await expect.poll(result, { timeout: 60_000 }).toContain('"count": 3');
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("The playground completes names of fields, and shows hostile descriptions as text", async () => {
    server = await serve(graphqlApp({ typeDefs: `type Query { "about ${hostile}" hello: String }` }), { debug: true });
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(`${server.url}/graphql?query=${encodeURIComponent("{ __typename }")}`);
    await page.locator(".graphiql-sidebar button").first().click();
    await page
      .locator(".graphiql-plugin a", { hasText: /^Query$/ })
      .first()
      .click();
    await page.locator(".graphiql-plugin").getByText("alert(1)").waitFor();
    expect(await page.locator(".graphiql-plugin img").count()).toBe(0);
    await page.locator(".graphiql-query-editor .CodeMirror").click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("{ hel", { delay: 50 });
    await page.locator(".CodeMirror-hint", { hasText: "hello" }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).searchParams.get("query")).toContain("{ hello");
    expect(dialogs).toEqual([]);
    await page.close();
  });

  it("Headers of the playground are the payload of connection_init with a subscription", async () => {
    const payloads: unknown[] = [];
    const app = graphqlApp({
      typeDefs: "type Query { one: Int } type Subscription { one: Int! }",
      resolvers: { Subscription: { one: { subscribe: () => once({ one: 1 }) } } },
      subscriptions: {
        onConnect(payload) {
          payloads.push(payload);
          return true;
        },
      },
    });
    server = await serve(app, { debug: true });
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${server.url}/graphql?query=${encodeURIComponent("subscription { one }")}`);
    await page.getByRole("button", { name: "Headers" }).click();
    await page.locator(".graphiql-editor-tool .CodeMirror").filter({ visible: true }).click();
    await page.keyboard.insertText('{ "token": "secret" }');
    // The page takes what is typed into an editor half a second later.
    await expect
      .poll(async () => {
        await page.click(".graphiql-execute-button");
        return payloads.at(-1);
      })
      .toEqual({ token: "secret" });
    await page.close();
  });

  it("On a narrow screen the result is below the query, and the documentation takes the place of both", async () => {
    server = await serve(greetingApp(), { debug: true });
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    await page.goto(`${server.url}/graphql?query=${encodeURIComponent("{ __typename }")}`);
    await page.waitForSelector(".graphiql-query-editor .CodeMirror-code", { timeout: 60_000 });
    const boxOf = async (selector: string) => (await page.locator(selector).first().boundingBox())!;
    const [query, result] = [await boxOf(".graphiql-query-editor"), await boxOf(".result-window")];
    expect(result.y).toBeGreaterThan(query.y + query.height);
    for (const { width } of [query, result]) expect(width).toBeGreaterThan(330);
    const documentation = page.locator(".graphiql-sidebar button").first();
    await documentation.click();
    await expect.poll(() => page.locator(".graphiql-sessions").isVisible(), { timeout: 30_000 }).toBe(false);
    const plugin = await boxOf(".graphiql-plugin");
    expect([plugin.width > 330, plugin.height > 600]).toEqual([true, true]);
    await documentation.click();
    await expect.poll(() => page.locator(".graphiql-sessions").isVisible(), { timeout: 30_000 }).toBe(true);
    await page.close();
  });
});

async function* once<Value>(value: Value): AsyncGenerator<Value> {
  yield value;
}

describe("the page of the playground", () => {
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";

  it("The page of the playground is served in development, and not in production", async () => {
    const pageOf = async (debug: boolean): Promise<Response> => {
      const server = await serve(greetingApp(), { debug });
      const response = await fetch(`${server.url}/graphql`, { headers: { accept } });
      await response.text();
      await server.close();
      return response;
    };
    const page = await pageOf(true);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'nonce-[\w+/=]+';/);
    expect((await pageOf(false)).headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  it("The page of the playground leaves requests of programs to the endpoint", async () => {
    const server = await serve(greetingApp(), { debug: true });
    const response = await fetch(`${server.url}/graphql?query={__typename}`, { headers: { accept: "*/*" } });
    expect(await response.json()).toEqual({ data: { __typename: "Query" } });
    await server.close();
  });
});
