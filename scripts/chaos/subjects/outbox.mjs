import { fileURLToPath } from "node:url";
import { postgresSubject } from "./postgres-subject.mjs";

const program = fileURLToPath(new URL("../programs/outbox.mjs", import.meta.url));

const tables = `
  create table wire (
    n bigint generated always as identity primary key, sender int not null, topic text not null, id text not null, key text,
    headers json not null, body text not null, acked boolean not null default false,
    claimed_until timestamptz not null default '-infinity');
  create table counters (key text primary key, n int not null);
  insert into counters select 'k' || i, 0 from generate_series(0, 9) i;
  create table stored (key text, n int, primary key (key, n));
  create table effects (key text, n int)`;

/** Two publishers and three workers. The messages of committed transactions have their effects once, in order of their keys. */
export default {
  name: "outbox",
  start: (place) =>
    postgresSubject(place, {
      program,
      roles: { worker: 3, publisher: 2 },
      tables,
      begun: async ({ query }) => (await query("select from effects limit 1")).length > 0,
      async settled({ query }) {
        const [row] =
          await query(`select (select count(*) from stoa.outbox) + (select count(*) from wire where not acked)
          + (select count(*) from stored s where not exists (select from effects e where e.key = s.key and e.n = s.n)) as open`);
        return Number(row.open) === 0;
      },
      check,
    }),
};

async function check({ ledger, query }) {
  const failures = [];
  const stored = new Set((await query("select key, n from stored")).map(({ key, n }) => `${key}-${n}`));
  const times = new Map();
  for (const { key, n } of await query("select key, n from effects")) {
    times.set(`${key}-${n}`, (times.get(`${key}-${n}`) ?? 0) + 1);
  }
  const sent = ledger.read("sent").map(({ key, n }) => `${key}-${n}`);
  const report = (name, list) => {
    if (list.length > 0) failures.push(`${name}: ${list.length} messages, as ${list[0]}`);
  };
  report(
    "confirmed and not stored",
    sent.filter((id) => !stored.has(id)),
  );
  report(
    "lost",
    [...stored].filter((id) => !times.has(id)),
  );
  report(
    "without a transaction",
    [...times.keys()].filter((id) => !stored.has(id)),
  );
  report(
    "with two effects",
    [...times].filter(([, count]) => count > 1).map(([id]) => id),
  );
  const wire = await query("select topic, id, key, (body::json ->> 'n')::int as n from wire order by wire.n");
  report(
    "dead",
    wire.filter(({ topic }) => topic !== "orders").map(({ id }) => id),
  );
  const seen = new Set();
  const last = new Map();
  const reordered = [];
  for (const { topic, id, key, n } of wire) {
    if (topic !== "orders" || seen.has(id)) continue;
    seen.add(id);
    if (n !== (last.get(key) ?? 0) + 1) reordered.push(`${id} after ${last.get(key) ?? 0}`);
    last.set(key, n);
  }
  report("reordered", reordered);
  const waiting = await query("select message_id, state from stoa.outbox");
  report(
    "left in the outbox",
    waiting.map(({ message_id, state }) => `${message_id} (${state})`),
  );
  if (stored.size === 0) failures.push("nothing was stored");
  const counts = {
    stored: stored.size,
    unsure: ledger.read("unsure").length,
    published: wire.length,
    effects: times.size,
  };
  return { counts: { ...counts, republished: wire.length - seen.size }, failures };
}
