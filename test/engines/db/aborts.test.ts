import { App } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, vi } from "vitest";
import { quiet } from "../../patterns/events/stores.js";
import { service } from "../../support/service.js";
import { FaultProxy } from "./fault-proxy.js";

const server = service("postgres") ?? "";
const poolSize = 3;

describe.skipIf(server === "")("clients that abort slow queries", { timeout: 60_000 }, () => {
  it("Clients that abort free their connections, open few to cancel, and cost honest clients no error", async () => {
    const proxy = await FaultProxy.start(server);
    let mostConnections = 0;
    proxy.changeRequest = (chunk) => {
      mostConnections = Math.max(mostConnections, proxy.connections);
      return chunk;
    };
    const app = new App();
    app.logger = quiet;
    app.enableDatabase({ url: proxy.through(server), sslmode: "disable", poolSize, acquireTimeout: 30 });
    let sleeping = 0;
    app.get("/slow", async ({ db }) => {
      sleeping++;
      return db.fetchval("select pg_sleep(600)");
    });
    app.get("/quick", async ({ db }) => [await db.fetchval("select 1")]);
    const wire = await serve(app, { debug: false });
    try {
      const statuses: number[] = [];
      for (let round = 1; round <= 4; round++) {
        const leaving = new AbortController();
        const slow = Array.from({ length: 8 }, () =>
          fetch(`${wire.url}/slow`, { signal: leaving.signal }).catch(() => null),
        );
        await vi.waitFor(() => expect(sleeping).toBe(8 * round), 20_000);
        const honest = Array.from({ length: 8 }, async () => (await fetch(`${wire.url}/quick`)).status);
        leaving.abort();
        await Promise.all(slow);
        statuses.push(...(await Promise.all(honest)));
      }
      expect(new Set(statuses)).toEqual(new Set([200]));
      await vi.waitFor(() => expect(app.database.stats()).toMatchObject({ inUse: 0, waiting: 0 }), 20_000);
      // Each connection has at most one request to cancel under way.
      expect(mostConnections).toBeLessThanOrEqual(2 * poolSize);
    } finally {
      await wire.close();
      await proxy.close();
    }
  });
});
