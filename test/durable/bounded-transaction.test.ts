import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../src/app/app.js";
import { boundedTransaction } from "../../src/durable/bounded-transaction.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { makeDatabase } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { totals } from "../patterns/events/totals.js";
import { service } from "../support/service.js";

const server = service("postgres");
const limit = "10s";
const show = "show idle_in_transaction_session_timeout";
const patient = { timeout: 60_000, interval: 20 };

describe.skipIf(!server)("transactions of the framework on the server", { timeout: 120_000 }, () => {
  let app: App;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const made = await makeDatabase(server!);
    drop = made.drop;
    app = new App();
    app.logger = quiet;
    app
      .enableDatabase({ url: made.url, poolSize: 5 })
      .enableEventSourcing({ poll: "50ms" })
      .enableSaga({ poll: "50ms" })
      .enableJobs({ poll: "50ms" });
    app.saga(saga("waits").waitFor("go"));
    app.job("tick", { schedule: "100ms" }, () => {});
    app.eventStore.project(totals("inline_totals", { mode: "inline" }));
    await app.start();
  });
  afterAll(async () => {
    await app?.stop();
    await drop?.();
  });

  it("A transaction that rests for too long is ended by the server, so that its locks are free", async () => {
    expect(await boundedTransaction(app.database, (tx) => tx.fetchval(show))).toBe(limit);
    const ended = boundedTransaction(app.database, async (tx) => {
      await tx.execute("set local idle_in_transaction_session_timeout = 50");
      // It rests until its session is gone.
      const mine = await tx.fetchval("select pg_backend_pid()");
      await vi.waitFor(async () => {
        const text = "select count(*)::int from pg_stat_activity where pid = $1";
        expect(await app.database.fetchval(text, [mine])).toBe(0);
      }, patient);
      await tx.execute("select 1");
    });
    await expect(ended).rejects.toThrow();
  });

  it("Inside of a transaction of the program the limits of that one hold", async () => {
    const nested = await app.database.transaction(async (tx) =>
      boundedTransaction(tx, (inner) => inner.fetchval(show)),
    );
    expect(nested).toBe("0");
  });

  it("Signals, aborts, schedules, inline projections and rebuilds have that limit", async () => {
    await app.database.script(`create table limits (what text, value text);
      create function note_limit() returns trigger language plpgsql as $$ begin
        insert into limits values (tg_table_name, current_setting('idle_in_transaction_session_timeout')); return null; end $$;
      create trigger t after insert on stoa.saga_inbox for each row execute function note_limit();
      create trigger t after update of cancel on stoa.sagas for each row execute function note_limit();
      create trigger t after update on stoa.job_schedules for each row execute function note_limit();
      create trigger t after insert on inline_totals for each row execute function note_limit();
      create trigger t after update on stoa.projections for each row execute function note_limit()`);
    const id = "limits";
    await app.database.execute("insert into stoa.sagas (id, name, version, input) values ($1, 'unknown', 1, 'null')", [
      id,
    ]);
    await app.sagas.signal(id, "go", 1);
    await app.sagas.abort(id);
    await app.eventStore.append("order-1", { type: "ItemAdded", data: { sku: "a", price: 1 } });
    await app.eventStore.rebuild({ name: "inline_totals" });
    await vi.waitFor(async () => {
      const found = await app.database.fetch("select distinct what, value from limits order by what");
      expect(found).toEqual(
        ["inline_totals", "job_schedules", "projections", "saga_inbox", "sagas"].map((what) => ({
          what,
          value: limit,
        })),
      );
    }, patient);
  });
});
