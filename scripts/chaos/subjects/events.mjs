import { fileURLToPath } from "node:url";
import { postgresSubject } from "./postgres-subject.mjs";

const program = fileURLToPath(new URL("../programs/events.mjs", import.meta.url));
const batch = 20;

const differences = `
  with folds as (
    select stream, category, sum((data ->> 'price')::int)::int as total, count(*)::int as events
    from stoa.events group by stream, category),
  kept as (select *, 'order' as category from order_totals union all select *, 'account' from account_totals)
  select coalesce(f.stream, k.stream) as stream, f.total, f.events, k.total as kept_total, k.events as kept_events
  from folds f full join kept k on k.stream = f.stream and k.category = f.category
  where (f.total, f.events) is distinct from (k.total, k.events)`;

/** Two writers and three workers. Confirmed appends are stored once, and subscription and projections follow. */
export default {
  name: "events",
  start: (place) =>
    postgresSubject(place, {
      program,
      roles: { worker: 3, writer: 2 },
      tables: "create table stored (append text primary key)",
      begun: ({ ledger }) => ledger.read("handled").length > 0,
      async settled({ ledger, query }) {
        const handled = new Set(ledger.read("handled").map(({ id }) => id));
        const events = await query("select id from stoa.events");
        return events.every(({ id }) => handled.has(id)) && (await query(differences)).length === 0;
      },
      check,
    }),
};

async function check({ ledger, query, faults }) {
  const failures = [];
  const report = (name, list) => {
    if (list.length > 0) failures.push(`${name}: ${list.length}, as ${list[0]}`);
  };
  const events = await query(`select position::int, stream, version::int, id, data ->> 'append' as append,
    (data ->> 'part')::int as part, (data ->> 'count')::int as count from stoa.events order by position`);
  checkAppends(events, ledger.read("sent"), report);
  const inTransactions = await query(`select s.append from stored s
    where not exists (select from stoa.events e where e.data ->> 'append' = s.append)`);
  report(
    "transactions without their events",
    inTransactions.map(({ append }) => append),
  );
  const { doubled, late } = checkHandled(events, ledger.read("handled"), faults, report);
  report(
    "streams whose projection is not the fold of their events",
    (await query(differences)).map((row) => JSON.stringify(row)),
  );
  if (events.length === 0) failures.push("nothing was appended");
  return { counts: { sent: ledger.read("sent").length, events: events.length, doubled, late }, failures };
}

/** All events of an append are there once and side by side, at the versions that were confirmed; streams have no gaps. */
function checkAppends(events, sent, report) {
  const versions = new Map();
  const appends = new Map();
  const gaps = [];
  for (const { stream, version, append, part } of events) {
    if (version !== (versions.get(stream) ?? 0) + 1) gaps.push(`${stream} ${version}`);
    versions.set(stream, version);
    const parts = appends.get(append) ?? [];
    appends.set(append, [...parts, { part, version }]);
  }
  report("gaps in streams", gaps);
  const torn = events.filter(({ append, count }) => {
    const parts = appends.get(append);
    return (
      parts.length !== count || parts.some(({ part, version }, n) => part !== n || version !== parts[0].version + n)
    );
  });
  report(
    "events of appends in parts",
    torn.map(({ id }) => id),
  );
  const lost = sent.filter(({ append, version }) => appends.get(append)?.at(-1).version !== version);
  report(
    "confirmed appends that are lost or elsewhere",
    lost.map(({ append }) => append),
  );
}

/**
 * Each event was handled, the first time in the order of all. One worker was active at a time: a later claim has a higher token.
 * A worker that is paused between the look at its lease and the call of the handler handles one event late.
 */
function checkHandled(events, handled, faults, report) {
  const times = new Map();
  const order = [];
  let newest = 0;
  let late = 0;
  for (const { position, id, token } of handled) {
    if (!times.has(id)) order.push(position);
    times.set(id, (times.get(id) ?? 0) + 1);
    if (token < newest) late++;
    newest = Math.max(newest, token);
  }
  report(
    "events that were not handled",
    events.filter(({ id }) => !times.has(id)).map(({ id }) => id),
  );
  report(
    "events out of order",
    order.filter((position, n) => n > 0 && position < order[n - 1]),
  );
  const doubled = handled.length - times.size;
  const count = Object.values(faults).reduce((sum, number) => sum + number, 0);
  if (doubled > count * batch) report(`events handled again after ${count} faults`, Array(doubled).fill("any"));
  if (late > (faults.stop ?? 0)) report("events handled by a worker whose lease was over", Array(late).fill("any"));
  return { doubled, late };
}
