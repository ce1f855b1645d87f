import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { App } from "stoa";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { send } from "../batteries/wire.js";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;
// The library of fetch keeps the context in which Node.js loads it, once in a process: here no request is in it.
void globalThis.Response;
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

describe("the memory of an application with all batteries", () => {
  it.each(["net", "node"] as const)(
    "No request is kept in memory after its response on the %s transport",
    async (transport) => {
      const seen: WeakRef<object>[] = [];
      const app = new App();
      app.logger = silent;
      app
        .enableCors()
        .enableCompression()
        .enableEtag()
        .enableRequestId()
        .enableRateLimit({ maxRequests: 1000, windowSecs: 60 })
        .enableCaching()
        .enableCircuitBreaker()
        .enableSessions({ secret: "s".repeat(32) })
        .enableCsrf()
        .enableSecurityHeaders()
        .enableMetrics()
        .enableLivePage()
        .enableTelemetry({ otlpEndpoint: "http://127.0.0.1:9" });
      app.use({ name: "keeper", before: (request) => void seen.push(new WeakRef(request)) });
      app.get("/text", () => "text".repeat(1000));
      app.get("/session", (request) => ({ n: request.session.get("n") ?? 0 }));
      app.get("/fails", () => {
        throw new Error("on purpose");
      });
      app.get("/stream", async function* () {
        yield "one";
        yield "two";
      });
      app.post("/items", { body: z.object({ name: z.string() }) }, (_, { body }) => body);
      const server = await app.run({ port: 0, exit: false, env: "development", transport });
      onTestFinished(() => server.close());
      for (const path of ["/text", "/session", "/fails", "/stream", "/nothing"]) {
        const headers = { "Accept-Encoding": "gzip", Connection: "close" };
        await send(server.url, path, { headers });
      }
      const headers = { "Content-Type": "application/json", Connection: "close" };
      for (const body of ['{"name":"a"}', '{"name":1}', "{"]) {
        await send(server.url, "/items", { method: "POST", headers, body });
      }
      expect(seen.length).toBeGreaterThanOrEqual(8);
      await expect
        .poll(
          () => {
            gc();
            return seen.filter((ref) => ref.deref() !== undefined).length;
          },
          { timeout: 20_000 },
        )
        .toBe(0);
    },
  );
});
