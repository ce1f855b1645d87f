import { fileURLToPath } from "node:url";
import { postgresSubject } from "./postgres-subject.mjs";

const program = fileURLToPath(new URL("../programs/sagas.mjs", import.meta.url));
/** The effects of a saga that is completed. */
const steps = 5;

/** Two clients and three workers, which all drive sagas. Each saga ends completed or compensated, driven by one at a time. */
export default {
  name: "sagas",
  start: (place) =>
    postgresSubject(place, {
      program,
      roles: { worker: 3, client: 2 },
      tables: "create table effects (key text primary key, saga text not null, amount int not null)",
      begun: async ({ query }) => {
        if ((await query("select from pg_tables where schemaname = 'stoa' and tablename = 'sagas'")).length === 0)
          return false;
        return (
          (await query("select from stoa.sagas where status = 'completed' and parent_id is null limit 1")).length > 0
        );
      },
      async settled({ query }) {
        const [row] = await query("select count(*) as open from stoa.sagas where finished_at is null");
        return Number(row.open) === 0;
      },
      check,
    }),
};

async function check({ ledger, query }) {
  const failures = [];
  const report = (name, list) => {
    if (list.length > 0) failures.push(`${name}: ${list.length} sagas, as ${list[0]}`);
  };
  const sagas = await query(
    "select id, status, input ->> 'refusedBy' as refused from stoa.sagas where parent_id is null",
  );
  const known = new Set(sagas.map(({ id }) => id));
  const sent = ledger.read("sent");
  report(
    "confirmed and lost",
    sent.filter(({ id }) => !known.has(id)).map(({ id }) => id),
  );
  const wrong = sagas.filter(({ status, refused }) => status !== (refused === null ? "completed" : "compensated"));
  report(
    "with a wrong end",
    wrong.map(({ id, status, refused }) => `${id} (${status}, refused by ${refused})`),
  );
  const effects = new Map(sagas.map(({ id }) => [id, new Set()]));
  for (const { key, saga } of await query("select key, saga from effects")) effects.get(saga)?.add(key);
  const halves = sagas.filter(({ id, status }) => {
    const keys = [...effects.get(id)];
    const undone = keys.filter((key) => key.endsWith(":compensate"));
    if (status === "completed") return keys.length !== steps || undone.length > 0;
    return keys.some((key) => !key.endsWith(":compensate") && !effects.get(id).has(`${key}:compensate`));
  });
  report(
    "with a part of the effects",
    halves.map(({ id, status }) => `${id} (${status}): ${[...effects.get(id)]}`),
  );
  // An attempt belongs to one claim: a second driver would have another number.
  const attempts = new Map();
  for (const { key, attempt } of ledger.read("begun")) {
    attempts.set(`${key} ${attempt}`, (attempts.get(`${key} ${attempt}`) ?? 0) + 1);
  }
  report(
    "driven by two at a time",
    [...attempts].filter(([, count]) => count > 1).map(([name]) => name),
  );
  const backwards = await query(`select distinct saga_id from (
    select saga_id, token, lag(token) over (partition by saga_id order by number) as before from stoa.saga_log) l
    where token < before`);
  report(
    "written by two drivers in turn",
    backwards.map(({ saga_id }) => saga_id),
  );
  if (sent.length === 0) failures.push("nothing was sent");
  const completed = sagas.filter(({ status }) => status === "completed").length;
  const counts = { sent: sent.length, completed, compensated: sagas.length - completed, attempts: attempts.size };
  return { counts, failures };
}
