import type { LiveSegment, LiveStep, LiveTone } from "../../console/panels.js";
import type { SagaLogLine } from "./info.js";

/** A step of the definition. */
export type FlowStep = Pick<LiveStep, "name" | "kind" | "group">;

/** What a line of the log says of its step: the state after it, and the colour of the time that it begins or ends. */
const events: Readonly<Record<string, readonly [state: string, tone: LiveTone, opens?: "work" | "wait"]>> = {
  "action started": ["active", "info", "work"],
  "wait begins": ["waiting", "info", "wait"],
  "sleep begins": ["waiting", "info", "wait"],
  "child begins": ["waiting", "info", "wait"],
  "compensation started": ["undoing", "note", "work"],
  "compensation waits": ["undoing", "note", "work"],
  "action done": ["done", "good"],
  "action failed": ["failed", "bad"],
  "action timed out": ["unknown", "warning"],
  "action unknown": ["unknown", "warning"],
  "wait done": ["done", "info"],
  "wait timed out": ["failed", "warning"],
  "wait failed": ["failed", "bad"],
  "sleep done": ["done", "info"],
  "sleep failed": ["failed", "bad"],
  "child done": ["done", "good"],
  "child failed": ["failed", "bad"],
  "compensation done": ["undone", "note"],
  "compensation failed": ["undoing", "bad"],
  parked: ["parked", "bad"],
};

const ahead = { active: "info", waiting: "info", done: "good", failed: "bad", unknown: "warning" } as const;
const back = { undoing: "note", undone: "note", parked: "bad" } as const;
const tones: Readonly<Record<string, LiveTone>> = { ...ahead, ...back };
const isBack = (state: string): boolean => Object.hasOwn(back, state);

/** The steps with what the log says of each: state, segments of time, attempts, errors. */
export function flowSteps(plan: readonly FlowStep[], log: readonly SagaLogLine[]): LiveStep[] {
  const names = new Set([...plan.map(({ name }) => name), ...log.flatMap(({ step }) => step ?? [])]);
  return [...names].map((name) => {
    const step = plan.find((one) => one.name === name) ?? { name, kind: "step" };
    return { ...step, ...progress(log.filter((line) => line.step === name)) };
  });
}

function progress(log: readonly SagaLogLine[]): Omit<LiveStep, "name" | "kind" | "group"> {
  let state = "";
  let undone: Date | undefined;
  const segments: { -readonly [Key in keyof LiveSegment]: LiveSegment[Key] }[] = [];
  const notes: string[] = [];
  for (const { event, at, attempt, error } of log) {
    const known = events[event];
    if (known === undefined) continue;
    const [after, tone, opens] = known;
    if (event === "compensation waits" && state === after) continue;
    const last = segments.at(-1);
    const open = last?.to === null ? last : undefined;
    if (open) open.to = at;
    state = after;
    if (opens !== undefined) segments.push({ from: at, to: null, tone, thin: opens === "wait", attempt });
    else {
      if (open) Object.assign(open, { tone, thin: open.thin && tone === "info" });
      if (state === "undone") undone = at;
      const of = isBack(state) ? "compensation, attempt" : "attempt";
      if (error !== null) notes.push(attempt === null ? error : `${of} ${attempt}: ${error}`);
    }
  }
  return { state, tone: tones[state], segments, notes, back: isBack(state), undone };
}
