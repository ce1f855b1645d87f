import { fileURLToPath } from "node:url";
import { postgresSubject } from "./postgres-subject.mjs";

const program = fileURLToPath(new URL("../programs/jobs.mjs", import.meta.url));

/** Two clients and three workers, which all run jobs. Each job that was confirmed is run, each attempt by one process. */
export default {
  name: "jobs",
  start: (place) =>
    postgresSubject(place, {
      program,
      roles: { worker: 3, client: 2 },
      tables: "create table stored (n text primary key)",
      begun: ({ ledger }) => ledger.read("ran").some(({ job }) => job === "tick"),
      async settled({ query, faults: _, ...found }) {
        const [row] = await query(
          "select count(*) as open from stoa.jobs where finished_at is null and name <> 'tick'",
        );
        return Number(row.open) === 0 && (await scheduleGoesOn({ query, ...found }));
      },
      check,
    }),
};

/** True if a job of the schedule was added and run in the last seconds, and none is overdue. */
async function scheduleGoesOn({ query }) {
  const [row] =
    await query(`select count(*) filter (where status = 'done' and created_at > now() - interval '3 s') as recent,
    count(*) filter (where finished_at is null and created_at < now() - interval '3 s') as overdue
    from stoa.jobs where name = 'tick'`);
  return Number(row.recent) > 0 && Number(row.overdue) === 0;
}

async function check({ ledger, query }) {
  const failures = [];
  const report = (name, list) => {
    if (list.length > 0) failures.push(`${name}: ${list.length} jobs, as ${list[0]}`);
  };
  const rows = new Map((await query("select id::text, name, key, status from stoa.jobs")).map((row) => [row.id, row]));
  const ran = ledger.read("ran");
  const ranIds = new Set(ran.map(({ id }) => id));
  const ranValues = new Set(ran.map(({ n }) => n));
  const sent = ledger.read("sent");
  report(
    "confirmed and not stored",
    sent.filter(({ id }) => !rows.has(id)).map(({ id }) => id),
  );
  report(
    "lost",
    sent.filter(({ id }) => !ranIds.has(id)).map(({ id }) => id),
  );
  const stored = (await query("select n from stored")).map(({ n }) => n);
  report(
    "without the job of their transaction",
    stored.filter((n) => !ranValues.has(n)),
  );
  const last = Math.max(...[...rows.keys()].map(Number));
  report(
    "not done",
    [...rows.values()]
      .filter(({ id, name, status }) => status !== "done" && (name !== "tick" || Number(id) < last - 2))
      .map(({ id, status }) => `${id} (${status})`),
  );
  // An attempt belongs to one claim: a second process would have another number.
  const attempts = new Map();
  for (const { id, attempt } of ledger.read("begun")) {
    attempts.set(`${id}/${attempt}`, (attempts.get(`${id}/${attempt}`) ?? 0) + 1);
  }
  report(
    "run by two at a time",
    [...attempts].filter(([, count]) => count > 1).map(([name]) => name),
  );
  report("for one time of the schedule, twice", await idsOf(query, "a.name = 'tick'"));
  // Not compared with `created_at`: that is read before the insert looks for an open job, which may end in between.
  report("begun while one with their key was open", await idsOf(query, "a.finished_at > b.started_at"));
  if (sent.length === 0) failures.push("nothing was sent");
  const repeated = ran.length - new Set(ran.map(({ id }) => id)).size;
  const ticks = [...rows.values()].filter(({ name }) => name === "tick").length;
  return { counts: { sent: sent.length, jobs: rows.size, ticks, attempts: attempts.size, repeated }, failures };
}

/** Jobs with the key of an earlier one, for which a condition holds. Each time of the schedule is a key. */
async function idsOf(query, condition) {
  const rows = await query(
    `select b.id::text from stoa.jobs a join stoa.jobs b on a.name = b.name and a.key = b.key and a.id < b.id
     where ${condition}`,
  );
  return rows.map(({ id }) => id);
}
