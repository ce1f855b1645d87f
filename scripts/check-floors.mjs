/**
 * Checks that no import runs up: a room of src/ imports from the rooms below it, never from one beside it or above.
 * Type imports and `import()` count too.
 *
 *     node scripts/check-floors.mjs
 */
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { importGraph } from "./check-cycles.mjs";

/** The rooms of src/, from the ground up. Rooms of one line stand beside each other. */
export const floors = [
  ["internal"], // names, options, ValueError, the logger's interface: needs nothing
  ["errors"], // the table of errors, HttpError, errors in words
  ["http"], // requests, responses and everything in them
  ["routing"], // from a path to a route
  ["logging"], // log lines and their sinks
  ["error-pages"], // errors as problem details and as pages
  ["pipeline"], // middleware, compiled once for each route
  ["validation", "di", "guards", "websocket"], // the steps before a handler
  ["server"], // transports, processes, signals: serves any function from request to response
  ["auth"], // JWT, Basic, API keys
  ["route"], // routers, blueprints and the options of routes
  ["feature"], // the contract of features, and the host they see
  ["batteries"], // HTTP features, one folder each
  ["engines"], // clients of databases, stores and brokers, one folder each
  ["orm"], // models and queries
  ["migrations"], // changes of a schema, and the files that hold them
  ["introspection"], // models from a schema
  ["patterns"], // outbox, event store, commands, sagas and jobs, on a database
  ["apis"], // GraphQL and gRPC
  ["app"], // App, its host and the list of features
  ["testing", "cli"], // helpers for tests; the command line
  ["faces"], // the entry points of the package, each named index.ts: for users, so nothing inside imports them
];

const faces = new Set([
  "index.ts",
  "orm/index.ts",
  "migrations/index.ts",
  "testing/index.ts",
  "engines/messaging/index.ts",
  "apis/graphql/index.ts",
  "apis/grpc/index.ts",
  "patterns/events/index.ts",
  "patterns/cqrs/index.ts",
  "patterns/jobs/index.ts",
  "patterns/saga/index.ts",
]);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { imports, up } = importsRunningUp(fileURLToPath(new URL("../src", import.meta.url)));
  for (const line of up) console.log(line);
  console.log(`${up.length} of ${imports} imports run up`);
  process.exitCode = up.length > 0 ? 1 : 0;
}

/** Imports that run up or to a room beside, as `from -> to`, and the number of imports between rooms. */
export function importsRunningUp(folder, list = floors) {
  const heights = new Map(list.flatMap((rooms, height) => rooms.map((room) => [room, height])));
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

function roomOf(path) {
  return faces.has(path) ? "faces" : join(path).split("/", 1)[0];
}
