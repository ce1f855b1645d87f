import { errorText, jsonText } from "../../../durable/texts.js";
import type { ChildToBegin } from "../children.js";
import type { SagaDefinition, SagaNode } from "../definition.js";
import { attributesText } from "../info.js";
import type { Transition } from "../row.js";
import type { NewSaga } from "../storage.js";
import { type ChildState, childAddress } from "../wait-storage.js";
import { type Execution, without } from "./execution.js";
import { checkedInput, waitEvent } from "./run-wait.js";

type NewChild = ChildToBegin<SagaDefinition>;
type ChildNode = SagaNode & { readonly kind: "child" };

/** Starts the children of a part, or looks at them again. Returns true if the saga continues at once. */
export async function runChildren(execution: Execution, node: ChildNode): Promise<boolean> {
  const name = node.names[0]!;
  const { row, parts } = execution;
  const end = execution.end;
  if (end !== null) return execution.turnBack(node, end);
  const group = groupOf(execution, node);
  const done = { step: node.at + 1, attempt: 0, error: null, waited: true, logStep: name } as const;
  // The rounds that there are. Those that have ended stay as they are until they are undone.
  const rounds = node.next === undefined ? [] : await parts.waits.children(row.id, group);
  let added: readonly NewSaga[];
  try {
    const toBegin = childrenToBegin(execution, node, rounds);
    added = await Promise.all(toBegin.map((child) => newChild(execution, group, child)));
  } catch (error) {
    const unknown = rounds.length === 0 ? [] : [name];
    return execution.turnBack(node, errorText(error), { event: "child failed", unknown });
  }
  if (added.length === 0 && row.waitingFor === null && rounds.length === 0) {
    execution.note({ event: "child done", results: { [name]: node.resultOf([]) }, ...done });
    return true;
  }
  let goesOn = true;
  const changesOf = (children: readonly ChildState[]): Transition => {
    const unknown = without(row.unknown, name);
    const failed = failureOf(children, added);
    if (failed !== null) {
      // Those that were not undone are the first to be undone now.
      const left = children.every(isUndone) ? unknown : [...unknown, name];
      return {
        event: "child failed",
        status: "compensating",
        step: node.at,
        error: failed,
        logError: failed,
        unknown: left,
        waited: true,
        logStep: name,
      };
    }
    if (children.every(({ status }) => status === "completed")) {
      // One that has ended since the rounds were read: they are read again.
      const isRead = rounds.length === children.length && rounds.at(-1)!.status === "completed";
      if (node.next !== undefined && !isRead) return { event: "round done", logStep: name };
      const results = node.resultOf(children.map(({ id, results }) => ({ key: keyOf(id, group), results })));
      return { event: "child done", results: { [name]: results }, unknown, ...done };
    }
    goesOn = false;
    const wait = { for: childAddress(group), until: null };
    return { event: waitEvent(execution, "child"), wait, unknown: [...unknown, name], logStep: name };
  };
  await execution.write((before, changes) =>
    parts.waits.begin(before, group, added, (children) => [...changes, changesOf(children)]),
  );
  if (added.length > 0) parts.ring();
  return goesOn;
}

/** Has the children of a part compensated, and waits for their ends. */
export async function undoChildren(execution: Execution, node: ChildNode): Promise<boolean> {
  const name = node.names[0]!;
  const group = groupOf(execution, node);
  let goesOn = true;
  const changesOf = (children: readonly ChildState[]): Transition => {
    if (children.every(isUndone)) {
      return { event: "compensation done", step: node.at - 1, attempt: 0, waited: true, logStep: name };
    }
    goesOn = false;
    return { event: "compensation waits", wait: { for: childAddress(group), until: null }, logStep: name };
  };
  const toUndo = (children: readonly ChildState[]): readonly ChildState[] => {
    const open = children.filter((child) => !isUndone(child));
    return node.form === "repeat" ? open.slice(-1) : open;
  };
  await execution.write((row, changes) =>
    execution.parts.waits.undo(row, group, toUndo, (children) => [...changes, changesOf(children)]),
  );
  if (!goesOn) execution.parts.ring();
  return goesOn;
}

function childrenToBegin(execution: Execution, node: ChildNode, rounds: readonly ChildState[]): readonly NewChild[] {
  const last = rounds.at(-1);
  if (last === undefined) return execution.row.waitingFor === null ? node.begin(execution.context()) : [];
  const next = last.status === "completed" ? node.next!(execution.context(), last.results, rounds.length) : null;
  return next === null ? [] : [next];
}

async function newChild(execution: Execution, group: string, { key, definition, input }: NewChild): Promise<NewSaga> {
  const checked = await checkedInput(definition, input);
  const text = jsonText(checked, `the input of the saga ${definition.name}`);
  const attributes = attributesText(definition, checked);
  const timeoutMs = definition.timeoutMs ?? execution.parts.settings.timeoutMs;
  const { id: parentId, trace } = execution.row;
  const { name, version, steps } = definition;
  const id = key === null ? group : `${group}/${key}`;
  return { id, givenId: false, name, version, steps, input: text, timeoutMs, parentId, trace, attributes };
}

/** The reason why a part cannot complete; null if it can. */
function failureOf(children: readonly ChildState[], added: readonly NewSaga[]): string | null {
  const taken = added.find(({ id }) => !children.some((child) => child.id === id));
  if (taken !== undefined) return `another saga has the id ${taken.id}`;
  if (children.length === 0) return "the sagas that it waited for were deleted";
  const failed = children.find(isUndone);
  if (failed === undefined) return null;
  return `the saga ${failed.name} was ${failed.status}${failed.error ? `: ${failed.error}` : ""}`;
}

function isUndone({ status }: ChildState): boolean {
  return status === "compensated" || status === "aborted";
}

/** The beginning of the ids of the children of a part. */
function groupOf({ row }: Execution, node: ChildNode): string {
  return `${row.id}/${node.names[0]}`;
}

function keyOf(id: string, group: string): string | null {
  return id === group ? null : id.slice(group.length + 1);
}
