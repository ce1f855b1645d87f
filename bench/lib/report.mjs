import { databaseTables } from "./database-report.mjs";
import { contestantTable, controlRow, markdownTable, pair, spread } from "./tables.mjs";

/** The results as Markdown. */
export function toMarkdown(results) {
  const { machine, versions, options } = results;
  const rounds = `${options.rounds} rounds of 2 slices of ${options.slice} s`;
  return [
    `# Benchmark, ${machine.date}`,
    `${machine.cpu}, ${machine.cores} cores; Node ${machine.node}; wrk ${machine.wrk}; ${list(versions)}.`,
    `Duels against ${baseOf(results)}: ${rounds}, wrk -t1 -c64, both servers on one core, the load on another.${quick(options)}`,
    ...unavailableList(results),
    ...problemList(results),
    ...duelTables(results),
    ...specialTable(results),
    ...scalesTable(results),
    ...databaseTables(results),
    ...costsTable(results),
    ...startupTable(results),
    ...typesTable(results),
    "",
  ].join("\n\n");
}

function unavailableList({ unavailable }) {
  return unavailable.length === 0
    ? []
    : [unavailable.map(({ name, reason }) => `- ${name}: not available: ${reason.split("\n")[0]}`).join("\n")];
}

function problemList({ workloads, special, scales, database }) {
  const problems = [...workloads, ...special, ...scales, ...database.workloads].flatMap(
    ({ key, attempts, discarded, contestants }) => [
      ...(attempts > 1
        ? [
            `- ${key}: the control was repeated (${attempts} runs)${discarded ? "; still off, so the figures of this workload were thrown away" : ""}`,
          ]
        : []),
      ...contestants.filter(({ error }) => error).map(({ name, error }) => `- ${key}: ${name} ${error.split("\n")[0]}`),
    ],
  );
  return problems.length > 0 ? [problems.join("\n")] : [];
}

function duelTables({ workloads, base, contestants }) {
  if (workloads.length === 0) return [];
  return [
    `## Requests per CPU time, ratio to ${base} (higher is better; lowest to highest round)`,
    contestantTable(workloads, base, contestants, spread, [controlRow(workloads)]),
    `## Latency, ${base}'s over theirs, p50 / p99 (higher is better)`,
    contestantTable(workloads, base, contestants, ({ p50, p99 }) => `${p50.toFixed(2)} / ${p99.toFixed(2)}`),
    `## Memory in MiB after start / after load (in brackets: ${base} in the same duel)`,
    contestantTable(workloads, base, contestants, ({ memory }) => `${pair(memory)} (${pair(memory.base)})`),
  ];
}

/** Workloads with only some of the contestants: one row for each of them. */
function specialTable({ special }) {
  if (special.length === 0) return [];
  const rows = special.flatMap(({ key, name, unit, base, control, discarded, contestants }) => [
    [`${key}: ${name}`, `${base} against itself`, spread(control), ...(discarded ? ["discarded"] : [""]), "", ""],
    ...contestants.map(({ name: contestant, error, ...result }) =>
      error
        ? ["", contestant, "failed", "", "", ""]
        : [
            "",
            contestant,
            spread(result),
            `${result.cpuMicroseconds.toFixed(1)} per ${unit}`,
            `${result.p50.toFixed(2)} / ${result.p99.toFixed(2)}`,
            `${pair(result.memory)} (${pair(result.memory.base)})`,
          ],
    ),
  ]);
  const head = ["", "", "ratio to the base", "microseconds of CPU", "latency p50 / p99", "MiB start / load (base)"];
  return ["## Single tasks, ratio of CPU time to the base's (higher is better)", markdownTable(head, rows)];
}

/** Servers compared with themselves: the cost of more of something. */
function scalesTable({ scales }) {
  if (scales.length === 0) return [];
  const rows = scales.flatMap(({ key, name, base, control, discarded, contestants }) => [
    [`${key}: ${name}`, `${base} against itself`, "", spread(control), discarded ? "discarded" : "", ""],
    ...contestants.map(({ name: contestant, label, count, error, ...result }) => {
      if (error) return ["", contestant, label, "failed", "", ""];
      const more = result.cpuMicroseconds * (1 - result.ratio);
      return ["", contestant, label, spread(result), more.toFixed(2), count ? (more / count).toFixed(2) : ""];
    }),
  ]);
  const head = ["", "", "with", "ratio to without", "microseconds more per request", "each"];
  return ["## More of something, each server against itself (1.00: it costs nothing)", markdownTable(head, rows)];
}

function costsTable({ costs }) {
  if (!costs) return [];
  const rows = costs.map(({ name, error, microseconds, ratio }) =>
    error ? [name, "failed", ""] : [name, microseconds.toFixed(2), ratio.toFixed(2)],
  );
  const head = ["", "microseconds of CPU per request", "plain over with"];
  return [
    "## What each battery costs (the application with it against the application without)",
    markdownTable(head, rows),
  ];
}

function startupTable({ startup, base }) {
  if (!startup) return [];
  const rows = startup.map(({ name, error, milliseconds, lowest, highest, timesBase }) =>
    error
      ? [name, "failed", ""]
      : [name, `${milliseconds.toFixed(0)} (${lowest.toFixed(0)}-${highest.toFixed(0)})`, timesBase.toFixed(2)],
  );
  return ["## Start-up to the first answer (lower is better)", markdownTable(["", "ms", `times ${base}`], rows)];
}

function typesTable({ types }) {
  if (!types) return [];
  if (types.error) return ["## Type check", types.error];
  const rows = types.map(({ name, routes, seconds, ofRoutes, instantiations, perRoute }) => {
    const other = types.find((entry) => entry.name === "hono" && entry.routes === routes);
    const ratio = (seconds / other.seconds).toFixed(2);
    return [name, routes, seconds.toFixed(2), ofRoutes.toFixed(2), ratio, instantiations, perRoute.toFixed(0)];
  });
  const head = ["", "routes", "check s", "of the routes s", "times Hono", "instantiations", "per route"];
  return ["## Type check (lower is better)", markdownTable(head, rows)];
}

const list = (versions) => versions.map(({ name, version }) => `${name} ${version}`).join(", ");
const quick = (options) =>
  options.quick ? " A quick run: it shows that the harness works, not how fast anything is." : "";
const baseOf = ({ base, database }) => [base, database.base].filter(Boolean).join(", with a database ");
