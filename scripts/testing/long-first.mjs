import { BaseSequencer } from "vitest/node";

/** Files that take long, longest first. The last one to end should not be one of them, alone on one core. */
const long = [
  "server/native/tagged",
  "scripts/chaos",
  "engines/messaging/processes",
  "server/process/stuck",
  "engines/messaging/amqp-restart",
  "engines/messaging/kafka-killer",
  "e2e/live-page",
  "durable/blocked",
  "package/editor/editor",
  "patterns/events/read-window",
  "server/pipelining",
];

/** The order of vitest, which knows how long files took the last time on this machine, with these before all others. */
export class LongFirst extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => placeOf(a) - placeOf(b));
  }
}

/** How long a file takes, beside one that shares its process with others: it has a process to start, and is one of the long ones or not. */
export function weightOf({ moduleId, project }) {
  if (placeOf({ moduleId }) < long.length) return 20;
  return project.name === "shared" ? 1 : 4;
}

function placeOf({ moduleId }) {
  const place = long.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? long.length : place;
}
