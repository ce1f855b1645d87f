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

/**
 * The order of vitest, which knows how long files took the last time on this machine, by project, and in each project these
 * before all others. A process that files share ends where the next one in line is of another project.
 */
export class LongFirst extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    const { projects } = this.ctx;
    return sorted.sort((a, b) => projects.indexOf(a.project) - projects.indexOf(b.project) || placeOf(a) - placeOf(b));
  }
}

const weights = { shared: 1, programs: 3 };

/** How long a file takes, beside one of the project `shared`: it starts programs or has a process to start, and is one of the long ones or not. */
export function weightOf({ moduleId, project }) {
  return placeOf({ moduleId }) < long.length ? 20 : (weights[project.name] ?? 4);
}

function placeOf({ moduleId }) {
  const place = long.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? long.length : place;
}
