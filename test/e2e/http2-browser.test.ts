import { App, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const chromium = service("chromium");
const fixture = (name: string) => new URL(`../server/fixtures/${name}`, import.meta.url).pathname;

describe.skipIf(!chromium)("HTTP/2 in a browser", () => {
  it("A browser speaks HTTP/2 with TLS for pages, uploads, events and a WebSocket", async () => {
    const app = new App();
    app.get("/", () => Response.html("<title>page</title>"));
    app.get("/data", () => ({ hello: "world" }));
    app.post("/size", (request) => request.bytes().length);
    app.get("/events", () =>
      Response.sse(
        (async function* () {
          yield { data: "first" };
          yield { data: "second" };
        })(),
      ),
    );
    app.websocket("/ws", async (socket) => {
      await socket.sendText(`echo ${(await socket.recv())?.text} over HTTP/${socket.request.source.httpVersion}`);
    });
    const tls = { cert: fixture("cert.pem"), key: fixture("key.pem") };
    const server = await app.run({ port: 0, exit: false, logs: false, http2: true, tls });
    const browser = await openBrowser("--ignore-certificate-errors");
    try {
      const page = await browser.newPage({ ignoreHTTPSErrors: true });
      await page.goto(server.url);
      const results = await page.evaluate(`(async () => {
        const data = await (await fetch("/data")).json();
        const body = new Uint8Array(2_000_000);
        const size = await (await fetch("/size", { method: "POST", body })).text();
        const many = await Promise.all(Array.from({ length: 200 }, (_, i) => fetch("/data?" + i).then((r) => r.status)));
        const events = await new Promise((resolve) => {
          const source = new EventSource("/events");
          const seen = [];
          source.onmessage = ({ data }) => {
            seen.push(data);
            if (seen.length < 2) return;
            source.close();
            resolve(seen);
          };
        });
        const socket = await new Promise((resolve) => {
          const socket = new WebSocket(location.href.replace("https", "wss") + "ws");
          socket.onopen = () => socket.send("hello");
          socket.onmessage = ({ data }) => resolve(data);
          socket.onclose = () => resolve("refused");
        });
        const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
        const protocols = [...new Set(entries.map((entry) => entry.nextHopProtocol))];
        return { data, size, many: [...new Set(many)], events, socket, protocols };
      })()`);
      expect(results).toEqual({
        data: { hello: "world" },
        size: "2000000",
        many: [200],
        events: ["first", "second"],
        socket: "echo hello over HTTP/2",
        protocols: ["h2"],
      });
    } finally {
      await browser.close();
      await server.close();
    }
  });
});
