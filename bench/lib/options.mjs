import { parseArgs } from "node:util";

export const usage = `npm run bench -- [options]
  --only b,json,startup,types   workloads by letter or name, and the other measurements: startup, types, costs;
                                orm is all workloads with a database
  --peers fastify,hono          contestants by name (raw node:http is always the base, with a database raw pg)
  --rounds N                    rounds of a duel (11)
  --slice SECONDS               length of one slice of load (1)
  --quick                       5 rounds and fewer starts: shows that it works, not how fast
  --compare REV                 the working tree against a revision of this repository`;

/** Reads the command line; throws an error that names the allowed values. */
export function readOptions(args, peers, workloads) {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: "string" },
      peers: { type: "string" },
      rounds: { type: "string" },
      slice: { type: "string" },
      compare: { type: "string" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { quick, compare, help } = values;
  const extras = compare ? ["startup"] : ["startup", "types", "costs"];
  const measurements = [
    ...workloads.map(({ key, name, group }) => [key, name, group]),
    ...extras.map((name) => [name]),
  ];
  const only = choose("--only", values.only, measurements).map(([first]) => first);
  const names = choose(
    "--peers",
    values.peers,
    peers.map((name) => [name]),
  ).flat();
  return {
    help,
    compare,
    quick,
    workloads: workloads.filter(({ key }) => only.includes(key)),
    peers: names,
    startup: only.includes("startup") ? (quick ? 3 : 10) : 0,
    costs: only.includes("costs"),
    types: only.includes("types") && { sizes: quick ? [50, 200] : [50, 100, 200], runs: quick ? 1 : 3 },
    duel: {
      rounds: whole("--rounds", values.rounds, quick ? 5 : 11),
      slice: whole("--slice", values.slice, 1),
      warmup: quick ? 1 : 2,
    },
  };
}

function choose(option, text, allowed) {
  if (text === undefined) return allowed;
  return text.split(",").flatMap((wanted) => {
    const found = allowed.filter((names) => names.includes(wanted));
    if (found.length > 0) return found;
    const names = new Set(allowed.flatMap(([key, name = key, group]) => (group ? [name, group] : [name])));
    throw new Error(`${option}: unknown "${wanted}"; one of ${[...names].join(", ")}`);
  });
}

function whole(option, text, standard) {
  if (text === undefined) return standard;
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${option}: "${text}" is not a whole number above 0`);
  return Number(text);
}
