import type { SchemaState } from "../../orm/schema/state.js";
import type { Operation, Step } from "../operation.js";

/** The parts of an operation. The functions for its statements get the states before and after it. */
export interface OperationParts {
  readonly source: readonly [name: string, ...args: unknown[]];
  readonly description: string;
  /** False when PostgreSQL refuses it in a transaction. */
  readonly transactional?: boolean;
  apply(before: SchemaState): SchemaState;
  up(before: SchemaState, after: SchemaState): readonly Step[];
  /** Undefined: it cannot be undone. */
  down(before: SchemaState, after: SchemaState): readonly Step[] | undefined;
}

export function define(parts: OperationParts): Operation {
  return {
    description: parts.description,
    transactional: parts.transactional !== false,
    source: withoutAbsent(parts.source),
    apply: (before) => parts.apply(before),
    up: (before) => parts.up(before, parts.apply(before)),
    down: (before) => parts.down(before, parts.apply(before)),
  };
}

/** True for operations made by `op`. Migrations are modules, so a list can contain anything. */
export function isOperation(value: unknown): value is Operation {
  if (typeof value !== "object" || value === null) return false;
  const { apply, up, down, source } = value as Partial<Operation>;
  return [apply, up, down].every((each) => typeof each === "function") && Array.isArray(source);
}

/** Removes absent arguments at the end. */
function withoutAbsent(source: OperationParts["source"]): OperationParts["source"] {
  const [name, ...args] = source;
  while (args.length > 0 && isAbsent(args.at(-1))) args.pop();
  return [name, ...args];
}

function isAbsent(value: unknown): boolean {
  if (value === undefined) return true;
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
