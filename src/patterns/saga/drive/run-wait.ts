import { errorText } from "../../../durable/texts.js";
import { validated } from "../../../validation/issues.js";
import { readSleep, type SagaDefinition, type SagaNode } from "../definition.js";
import type { Transition } from "../row.js";
import { messageAddress, signalAddress } from "../wait-storage.js";
import type { Wait } from "../waits.js";
import type { Execution } from "./execution.js";

/** The longest key of a message that a saga can wait for. */
export const longestKey = 500;

/** Takes the message that a wait is for, or gives the saga back until it arrives or its time is over. */
export async function runWait(execution: Execution, node: SagaNode & { readonly kind: "wait" }): Promise<boolean> {
  const { wait } = node;
  const end = execution.end;
  if (end !== null) return execution.turnBack(node, end);
  let address: string;
  try {
    address = execution.row.waitingFor ?? addressOf(execution, wait);
  } catch (error) {
    return execution.turnBack(node, errorText(error), { event: "wait failed" });
  }
  const { waitLeft, waitingFor } = execution.row;
  const over = waitingFor !== null && waitLeft !== null && waitLeft <= 0;
  let outcome: "taken" | "over" | "waiting" = "waiting";
  const changesOf = (message: { readonly value: unknown } | null): Transition => {
    outcome = message !== null ? "taken" : over ? "over" : "waiting";
    const log = { logStep: wait.name };
    const done = { step: node.at + 1, attempt: 0, error: null, waited: true, ...log } as const;
    if (message !== null) return { event: "wait done", results: { [wait.name]: message.value }, ...done };
    if (!over) return { event: waitEvent(execution), wait: { for: address, until: wait.timeoutMs ?? null }, ...log };
    if (wait.optional) return { event: "wait timed out", results: { [wait.name]: null }, ...done };
    const error = "the time of the wait is over";
    return {
      event: "wait timed out",
      status: "compensating",
      step: node.at,
      error,
      logError: error,
      waited: true,
      ...log,
    };
  };
  await execution.write((row, changes) =>
    execution.parts.waits.take(row, address, (message) => [...changes, changesOf(message)]),
  );
  return outcome !== "waiting";
}

export async function runSleep(execution: Execution, node: SagaNode & { readonly kind: "sleep" }): Promise<boolean> {
  const [name] = node.names;
  const end = execution.end;
  if (end !== null) return execution.turnBack(node, end);
  const { waitingFor, waitLeft } = execution.row;
  if (waitingFor !== null && waitLeft !== null && waitLeft <= 0) {
    execution.note({ event: "sleep done", step: node.at + 1, results: { [name!]: null }, waited: true, logStep: name });
    return true;
  }
  let until: number | Date;
  try {
    until = readSleep(node.duration(execution.context()));
  } catch (error) {
    return execution.turnBack(node, errorText(error), { event: "sleep failed" });
  }
  await execution.change({ event: waitEvent(execution, "sleep"), wait: { for: "sleep", until }, logStep: name });
  return false;
}

export async function checkedInput({ input }: SagaDefinition, given: unknown): Promise<unknown> {
  return input === undefined ? given : validated(input, given, "input");
}

/** A saga that was woken and goes back to its wait says so in its log. */
export function waitEvent({ row }: Execution, what = "wait"): string {
  return row.waitingFor === null ? `${what} begins` : `${what} continues`;
}

function addressOf(execution: Execution, wait: Wait): string {
  const { id, name } = execution.row;
  if (wait.source.kind === "signal") return signalAddress(id, wait.source.signal.name);
  const key: unknown = wait.key!(execution.context());
  if (typeof key !== "string" || key === "" || key.length > longestKey || key.includes("\0")) {
    throw new TypeError(`the key of the wait ${wait.name} must be a string of 1 to ${longestKey} characters`);
  }
  return messageAddress(name, wait.name, key);
}
