import { expect, it } from "vitest";
import { App } from "../../../src/app/app.js";
import { saga, signal } from "../../../src/entry/saga.js";
import { emptyDatabases } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const empty = emptyDatabases(service("postgres"));

it("A saga keeps 1000 signals of a name that it has not taken, and refuses further ones until it takes some", {
  timeout: 120_000,
}, async () => {
  const app = new App();
  app.logger = quiet;
  app.enableDatabase(await empty()).enableSaga({ poll: "50ms", timeoutMs: 0 });
  const handle = app.saga(
    saga("patient")
      .waitFor("go")
      .waitFor("first", { signal: signal<number>("n") })
      .waitFor("end"),
  );
  await app.start();
  try {
    const id = await handle.start(null);
    expect(await app.sagas.signal(id, "n", 0)).toBe(true);
    // As 999 more calls leave them.
    await app.database.execute(
      `insert into stoa.saga_inbox (saga_id, address, value)
       select saga_id, address, to_jsonb(n) from stoa.saga_inbox, generate_series(1, 999) n where saga_id = $1`,
      [id],
    );
    expect(await app.sagas.signal(id, "n", 1000)).toBe(false);
    expect(await app.sagas.signal(id, "go")).toBe(true);
    await expect.poll(() => app.sagas.signal(id, "n", 1000), { timeout: 60_000, interval: 20 }).toBe(true);
    expect(await app.sagas.signal(id, "n", 1001)).toBe(false);
    expect((await app.sagas.get(id))?.results).toMatchObject({ first: 0 });
  } finally {
    await app.stop();
  }
});
