import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";
import { type OwnServer, startOwnServer } from "../own-server.js";

const shared = service("postgres");
const patient = { timeout: 120_000, interval: 20 };

describe.skipIf(!shared)("a server that is restarted while messages of the outbox are delivered", () => {
  let server: OwnServer;
  let app: App;
  beforeAll(async () => {
    server = await startOwnServer();
    app = new App();
    app.logger = quiet;
    app
      .enableDatabase({ url: server.url, poolSize: 8 })
      .enableMemoryBroker()
      .enableOutbox({ lease: "1s", poll: "50ms", batchSize: 20 });
    app.onMessage(
      "orders",
      { inbox: true, concurrency: 3, retry: { attempts: 1000, delay: 0.01, maxDelay: 0.5 } },
      async (message) => {
        const { key, n } = message.value as { key: string; n: number };
        await message.tx.execute("insert into effects (key, n) values ($1, $2)", [key, n]);
      },
    );
    await app.start();
    await app.database.script(`create table stored (key text, n int, primary key (key, n));
      create table counters (key text primary key, n int not null);
      create table effects (number bigint generated always as identity, key text, n int);
      insert into counters select 'k' || i, 0 from generate_series(0, 3) i`);
  });
  afterAll(async () => {
    await app?.stop().catch(() => {});
    await server?.stop();
  });

  it("Each message of a committed transaction has its effect once, in the order of its key", {
    timeout: 300_000,
  }, async () => {
    let confirmed = 0;
    const publish = async (writer: number): Promise<void> => {
      const key = `k${writer}`;
      for (let n = 0; n < 60; n++) {
        const attempt = app.database.transaction(async (tx) => {
          const number = await tx.fetchval("update counters set n = n + 1 where key = $1 returning n", [key]);
          await tx.execute("insert into stored (key, n) values ($1, $2)", [key, number]);
          await tx.publish("orders", { key, n: number }, { key });
        });
        await attempt.then(
          () => confirmed++,
          () => new Promise((resolve) => setTimeout(resolve, 10)),
        );
      }
    };
    const publishing = Promise.all([0, 1, 2, 3].map(publish));
    for (const reached of [40, 120]) {
      await vi.waitFor(() => expect(confirmed).toBeGreaterThanOrEqual(reached), patient);
      await server.restart();
    }
    await publishing;
    const missing = `select count(*)::int from stored s
      where not exists (select from effects e where e.key = s.key and e.n = s.n)`;
    await vi.waitFor(async () => expect(await app.database.fetchval(missing)).toBe(0), patient);
    const stored = await app.database.fetchval<number>("select count(*)::int from stored");
    expect(stored).toBeGreaterThanOrEqual(confirmed);
    // A transaction that was committed counts up the number of its key: without gaps, in order, each once.
    for (const key of ["k0", "k1", "k2", "k3"]) {
      const rows = await app.database.fetch<{ n: number }>("select n from effects where key = $1 order by number", [
        key,
      ]);
      expect(rows.map(({ n }) => n)).toEqual(rows.map((_, index) => index + 1));
    }
    expect(await app.database.fetchval("select count(*)::int from effects")).toBe(stored);
    await vi.waitFor(
      async () => expect(await app.database.fetchval("select count(*)::int from stoa.outbox")).toBe(0),
      patient,
    );
  });
});
