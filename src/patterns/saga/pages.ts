import type { AdminSettings } from "../../console/options.js";
import type { LiveCell, LivePanel, LiveTone } from "../../console/panels.js";
import { recordLink, recordPages } from "../../console/records.js";
import type { Host } from "../../feature/host.js";
import { type FlowStep, flowSteps } from "./flow.js";
import type { SagaInfo, SagaLogLine } from "./info.js";
import type { SagaStatus } from "./row.js";
import type { Sagas } from "./sagas.js";

const tones: Readonly<Record<SagaStatus, LiveTone>> = {
  running: "info",
  waiting: "info",
  compensating: "note",
  parked: "bad",
  completed: "good",
  compensated: "note",
  aborted: "warning",
};

const actionsOf: Readonly<Partial<Record<SagaStatus, readonly string[]>>> = {
  parked: ["resume", "skip", "abort"],
  running: ["abort"],
  waiting: ["abort"],
};

interface Execution {
  readonly saga: SagaInfo;
  readonly plan: readonly FlowStep[];
  readonly log: readonly SagaLogLine[];
  readonly children: readonly SagaInfo[];
}

/** Adds the section of sagas to the console: the list, an execution with its steps, and the calls for operators. */
export function addSagaPages(host: Host, options: AdminSettings, sagasOf: () => Sagas): void {
  recordPages<SagaInfo, SagaStatus, Execution>(host, options, {
    title: "Sagas",
    enabledBy: "enableSaga({ admin: ... })",
    tones,
    columns: ["Id", "Name", "Status", "Created", "Took", "Error"],
    row: (saga) => {
      const took = (saga.finishedAt ?? new Date()).getTime() - saga.createdAt.getTime();
      const { id, status, createdAt, error } = saga;
      return [recordLink(id), titleOf(saga), badge(status), { at: createdAt }, { ms: took }, error ?? ""];
    },
    list: (filter) => sagasOf().admin.list(filter),
    async get(id) {
      const { admin, definitions } = sagasOf();
      const saga = await admin.get(id);
      if (saga === null) return null;
      const definition = definitions.find(({ name, version }) => name === saga.name && version === saga.version);
      const plan = (definition?.nodes ?? []).flatMap(({ kind, names, at }) =>
        names.map((name) => (kind === "parallel" ? { name, kind: "step", group: at } : { name, kind })),
      );
      return { saga, plan, log: await admin.log(id), children: await admin.children(id) };
    },
    panels: panelsOf,
    actions: {
      resume: (id) => sagasOf().admin.resume(id),
      skip: (id) => sagasOf().admin.skip(id),
      abort: (id) => sagasOf().admin.abort(id),
    },
  });
}

function panelsOf({ saga, plan, log, children }: Execution): LivePanel[] {
  const { id, status, createdAt, updatedAt, finishedAt, wakeAt, parentId, error, input, attributes, results } = saga;
  // One that is parked waits for a person: its picture ends with its last change.
  const to = finishedAt ?? (status === "parked" ? updatedAt : new Date());
  const columns = ["Time", "Event", "Step", "Attempt", "Error"];
  const rows = log.map(({ at, event, step, attempt, error }): LiveCell[] => {
    return [{ at }, event, step ?? "", attempt ?? "", { text: error ?? "", tone: "bad" }];
  });
  return [
    {
      title: titleOf(saga),
      badge: badge(status),
      about: id,
      actions: { id, names: actionsOf[status] ?? [] },
      facts: [
        { label: "Began", value: { at: createdAt } },
        { label: "Took", value: { ms: to.getTime() - createdAt.getTime() } },
        ...Object.entries(attributes ?? {}).map(([label, value]) => ({ label, value: String(value) })),
        ...(wakeAt === null ? [] : [{ label: "Due", value: { at: wakeAt } }]),
        ...(parentId === null ? [] : [{ label: "Part of", value: recordLink(parentId) }]),
        ...children.map((child) => ({ label: `Child, ${child.status}`, value: recordLink(child.id) })),
      ],
      error,
      flow: { from: createdAt, to, steps: flowSteps(plan, log) },
    },
    { title: "Log", tables: [{ columns, rows, empty: "" }] },
    { title: "Input", texts: [JSON.stringify(input, null, 2)] },
    { title: "Results", texts: [JSON.stringify(results, null, 2)] },
  ];
}

const titleOf = ({ name, version }: SagaInfo): string => (version > 1 ? `${name} v${version}` : name);
const badge = (status: SagaStatus) => ({ text: status, tone: tones[status], badge: true });
