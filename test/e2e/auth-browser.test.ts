import { App, JwtAuth, Response } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const chromium = service("chromium");
const secret = "a secret of at least thirty-two bytes";

/** A bank whose pages are as careful as the framework makes them. */
function bank(): App {
  const app = new App().enableSecurityHeaders().enableSessions({ secret }).enableCsrf();
  app.get("/", (request) => {
    request.session.set("user", "ada");
    return Response.html('<form method="post" action="/pay"><button>Pay</button></form>');
  });
  app.post("/pay", (request) => `paid by ${request.session.get("user")}`);
  return app;
}

function elsewhere(target: string): App {
  const app = new App();
  app.get("/", () => Response.html(`<form method="post" action="${target}/pay"><button>Win</button></form>`));
  return app;
}

describe.skipIf(!chromium)("authentication in a browser", () => {
  it("A site's own form works in a browser, and another site's does not", async () => {
    await using ours = await serve(bank());
    await using theirs = await serve(elsewhere(ours.url));
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(ours.url);
      await page.click("button");
      expect(await page.textContent("body")).toBe("paid by ada");
      for (const host of ["127.0.0.1", "localhost"]) {
        await page.goto(theirs.url.replace("127.0.0.1", host));
        const [answer] = await Promise.all([
          page.waitForResponse((response) => response.url().endsWith("/pay")),
          page.click("button"),
        ]);
        expect(answer.status(), host).toBe(403);
      }
    } finally {
      await browser.close();
    }
  });

  it("A page in a browser opens a WebSocket with its token", async () => {
    const jwt = new JwtAuth({ secret }).skipPath("/");
    const app = new App().use(jwt);
    app.get("/", () => Response.html("<p>page</p>"));
    app.websocket("/live", { protocols: ["bearer"] }, async (socket) => {
      await socket.sendText(`hello ${socket.context.jwt_claims?.["sub"]}`);
      await socket.recv();
    });
    await using server = await serve(app);
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(server.url);
      const speak = `(token) => new Promise((resolve) => {
        const socket = new WebSocket(location.href.replace("http", "ws") + "live", token ? ["bearer", token] : []);
        socket.onmessage = (event) => resolve(socket.protocol + ": " + event.data);
        socket.onerror = () => resolve("refused");
      })`;
      expect(await page.evaluate(`(${speak})(${JSON.stringify(jwt.createToken({ sub: "ada" }))})`)).toBe(
        "bearer: hello ada",
      );
      expect(await page.evaluate(`(${speak})(null)`)).toBe("refused");
    } finally {
      await browser.close();
    }
  });
});
