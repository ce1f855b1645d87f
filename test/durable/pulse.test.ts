import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freeText, silentTables } from "../../src/durable/blocked-workers.js";
import { type PulseMember, pulseOf, watched } from "../../src/durable/pulse.js";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import type { Logger } from "../../src/kit/logger.js";
import { makeDatabase, makeRole } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { blockFor } from "../support/block-for.js";
import { service } from "../support/service.js";

const server = service("postgres");
const patient = { timeout: 60_000, interval: 20 };

describe.skipIf(!server)("the pulse of a process", { timeout: 120_000 }, () => {
  let db: Database;
  let url: string;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    ({ url, drop } = await makeDatabase(server!));
    db = await openDatabase(url);
    await makeRole(db, "password");
    await db.script(`create schema stoa; ${silentTables("stoa")}
      grant usage on schema stoa to password; grant all on stoa.silent_workers to password;`);
  });
  afterAll(async () => {
    // The role is one for all databases of the server: other files use it at the same time.
    await db.script("drop owned by password");
    await db.close();
    await drop();
  });

  const member = (owner: string, leaseMs = 600): PulseMember => ({ schema: "stoa", owner, leaseMs, running: () => [] });
  const rows = (owner: string) =>
    db.fetch("select until > clock_timestamp() - interval '1 hour' as said from stoa.silent_workers where owner = $1", [
      owner,
    ]);
  /** Blocks until the thread has said so: it may start late on a busy machine. */
  const said = (owner: string): Promise<void> =>
    vi.waitFor(async () => {
      blockFor(1000);
      expect(await rows(owner)).toEqual([{ said: true }]);
    }, patient);
  const as = (user: string, options: string): string => {
    const changed = new URL(url);
    [changed.username, changed.password] = user.split(":") as [string, string];
    changed.search = options;
    return changed.href;
  };

  it.each([
    ["without a password", "app", "sslmode=disable"],
    ["with a password", "password:hunter2", "sslmode=disable"],
    ["with a password over TLS", "password:hunter2", "sslmode=require"],
    ["with a password bound to TLS", "password:hunter2", "sslmode=require&channel_binding=require"],
  ])("A thread connects %s and says that the process is silent", async (name, user, options) => {
    const own = await openDatabase(as(`${user}:`, options));
    const leave = await pulseOf(own, quiet).join(member(name));
    await said(name);
    await leave();
    await own.close();
  });

  it("Leases of a silent one are not free until its time is over", async () => {
    await db.script(`
      create table leased (owner text, lease_until timestamptz);
      insert into leased values ('silent one', clock_timestamp() - interval '1 second'), ('dead one', clock_timestamp() - interval '1 second'),
        ('silent one', '-infinity'), ('living one', clock_timestamp() + interval '1 hour'), ('late one', clock_timestamp() - interval '1 second');
      insert into stoa.silent_workers values ('silent one', clock_timestamp() + interval '1 hour'), ('late one', clock_timestamp())`);
    const text = `select owner, isfinite(lease_until) as ended from leased l where ${freeText("stoa", "l", "statement_timestamp()")} order by 1`;
    expect(await db.fetch(text)).toEqual([
      { owner: "dead one", ended: true },
      { owner: "late one", ended: true },
      { owner: "silent one", ended: false },
    ]);
  });

  it("The log names the call that has blocked, else the work in progress", async () => {
    const lines: unknown[] = [];
    const logger: Logger = { ...quiet, warn: (message, fields) => void lines.push([message, fields?.["work"]]) };
    const own = await openDatabase(url);
    const leave = await pulseOf(own, logger).join({ ...member("named"), running: () => ["job 'a' 1", "job 'b' 2"] });
    watched(
      () => "job 'b' 2",
      () => blockFor(1500),
    );
    const line = expect.stringContaining("the event loop was blocked");
    await vi.waitFor(() => expect(lines).toContainEqual([line, ["job 'b' 2"]]), patient);
    blockFor(1500);
    await vi.waitFor(() => expect(lines).toContainEqual([line, ["job 'a' 1", "job 'b' 2"]]), patient);
    await leave();
    await own.close();
  });
});
