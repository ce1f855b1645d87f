/**
 * Checks that no import runs up: a room of src/ imports from the rooms below it, never from one beside it or above.
 * Type imports and `import()` count too. A folder has at most 25 files directly in it: a longer list is a folder for a reader to
 * divide. The application imports features in one list only. The declaration of a feature, its `feature.ts`, imports nothing
 * that a feature from outside could not.
 *
 *     node scripts/check-floors.mjs
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { importGraph } from "./check-cycles.mjs";

/**
 * The rooms of src/, from the ground up: folders, or a folder in one of them that stands on its own floor. Rooms of one
 * line stand beside each other.
 */
export const floors = [
  ["kit"], // names, options, durations, ValueError, the logger's interface: needs nothing
  ["errors"], // the table of errors, HttpError, errors in words
  ["http"], // requests, responses and everything in them
  ["logging"], // log lines and their sinks
  ["errors/pages"], // errors as problem details and as pages
  ["pipeline"], // middleware, compiled once for each route
  ["validation", "di", "guards", "websocket"], // the steps before a handler
  ["server"], // transports, processes, signals: serves any function from request to response
  ["routing"], // routers, blueprints, the options of routes, and the way from a path to a route
  ["auth"], // JWT, Basic, API keys
  ["feature"], // the contract of features, and the host they see
  ["console"], // the pages for operators: page kit, style, script, guard
  ["batteries"], // HTTP features, one folder each
  ["engines"], // clients of databases, stores and brokers, one folder each
  ["orm"], // models and queries
  ["migrations"], // changes of a schema, and the files that hold them
  ["introspection"], // models from a schema
  ["durable"], // leases, claims, doorbells, retention: the ground of the patterns
  ["patterns"], // outbox, event store, commands, sagas and jobs, on a database
  ["apis"], // GraphQL, gRPC and MCP
  ["app"], // App, its host and the list of features
  ["testing", "cli"], // helpers for tests; the command line
  ["entry"], // what users of the package import, one file for each entry
];

/**
 * Modules that a `feature.ts` may import although no entry of the package exports them, with the reason.
 *
 * @type {Record<string, string>}
 */
export const beyondContract = {
  "engines/engine.ts":
    "what engine() of stoa/feature is made of: database and key-value store have gauges, spans and lost connections too",
  "engines/messaging/state.ts":
    "the outbox gives consumers their inbox, and sagas publish: both are above the client of messages",
  "durable/texts.ts": "what a column of PostgreSQL can hold: the ground of the patterns",
  "http/peer/proxies.ts": "addresses behind proxies are part of requests; trustProxy only sets them",
  "server/process/parent-link.ts": "the protocol between a supervisor and its workers is that of one version",
  "server/worker-messages/link.ts": "the protocol between a supervisor and its workers is that of one version",
  "server/process/silent-workers.ts": "workers without a sign of life are known to the supervisor alone",
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL("../src", import.meta.url));
  const { imports, up } = importsRunningUp(folder);
  const wrong = [...up, ...crowdedFolders(folder), ...featuresOutsideList(folder), ...importsBeyondContract(folder)];
  for (const line of wrong) console.log(line);
  console.log(`${up.length} of ${imports} imports run up`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
}

/** Imports of features by the application, other than in its list of them: what a feature is, the feature declares. */
export function featuresOutsideList(folder, list = "app/features.ts") {
  const feature = floors.findIndex((rooms) => rooms.includes("feature"));
  const app = floors.findIndex((rooms) => rooms.includes("app"));
  const rooms = new Set(["auth", ...floors.slice(feature + 1, app).flat()]);
  const found = [];
  for (const [file, targets] of importGraph(folder)) {
    const from = relative(folder, file);
    if (!from.startsWith("app/") || from === list) continue;
    for (const to of [...targets].map((target) => relative(folder, target))) {
      if (rooms.has(to.split("/")[0])) found.push(`${from} -> ${to}: only ${list} imports features`);
    }
  }
  return found;
}

/** Imports that run up or to a room beside, as `from -> to`, and the number of imports between rooms. */
export function importsRunningUp(folder, list = floors) {
  const heights = new Map(list.flatMap((rooms, height) => rooms.map((room) => [room, height])));
  const roomOf = (path) => {
    const [first, second] = path.split("/");
    return heights.has(`${first}/${second}`) ? `${first}/${second}` : first;
  };
  const up = [];
  let imports = 0;
  for (const [file, targets] of importGraph(folder)) {
    const from = relative(folder, file);
    if (!heights.has(roomOf(from))) up.push(`${from} stands on no floor: add its room to scripts/check-floors.mjs`);
    for (const target of targets) {
      const to = relative(folder, target);
      if (roomOf(from) === roomOf(to)) continue;
      imports++;
      if (!(heights.get(roomOf(to)) < heights.get(roomOf(from)))) up.push(`${from} -> ${to}`);
    }
  }
  return { imports, up };
}

export function crowdedFolders(folder, most = 25) {
  const counts = new Map();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) counts.set(entry.parentPath, (counts.get(entry.parentPath) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > most)
    .map(([path, count]) => `${relative(folder, path)} has ${count} files of its own: divide it, ${most} are the most`);
}

/**
 * Imports of features that a feature from outside could not have, as `from -> name of module`. It may import names that an
 * entry exports, names of other features' `feature.ts`, and everything in its own folder.
 */
export function importsBeyondContract(folder, exceptions = beyondContract) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".ts"));
  const named = (file, isWanted, clauseOf) => {
    const source = ts.createSourceFile(file, readFileSync(join(folder, file), "utf8"), ts.ScriptTarget.Latest);
    return source.statements.filter(isWanted).flatMap((statement) => {
      const path = statement.moduleSpecifier?.text ?? "";
      if (!path.startsWith("../")) return [];
      const module = relative(folder, resolve(folder, dirname(file), path.replace(/\.js$/, ".ts")));
      const elements = clauseOf(statement)?.elements ?? [];
      return elements.map(({ propertyName, name }) => ({ module, name: (propertyName ?? name).text }));
    });
  };
  const entries = files.filter((file) => file.startsWith("entry/"));
  const exported = entries.flatMap((file) => named(file, ts.isExportDeclaration, ({ exportClause }) => exportClause));
  const open = new Set(exported.map(({ module, name }) => `${name} of ${module}`));
  const isFeature = (file) => file.endsWith("/feature.ts") && !/^(?:entry|feature)\//.test(file);
  const used = new Set();
  const closed = files.filter(isFeature).flatMap((file) =>
    named(file, ts.isImportDeclaration, ({ importClause }) => importClause?.namedBindings)
      .filter(({ module, name }) => !open.has(`${name} of ${module}`) && !isFeature(module))
      .filter(({ module }) => (module in exceptions ? void used.add(module) : true))
      .map(({ module, name }) => `${file} -> ${name} of ${module}: export it from an entry, or give the reason here`),
  );
  const idle = Object.keys(exceptions).filter((module) => !used.has(module));
  return [...closed, ...idle.map((module) => `the exception ${module} is not needed any more`)];
}
