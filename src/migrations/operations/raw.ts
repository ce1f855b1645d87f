import type { Queries } from "../../engines/db/database.js";
import { checkedOptions } from "../../kit/config.js";
import { is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Operation } from "../operation.js";
import { define, isOperation } from "./define.js";

export interface SqlOptions {
  /** The changes to the schema, as operations. They are not run; migrations only know the state after them. */
  readonly state?: readonly Operation[];
  /** False for statements that PostgreSQL refuses in a transaction. */
  readonly transactional?: boolean;
}

const readOptions = checkedOptions<SqlOptions>({ state: is.list(isOperationCheck), transactional: is.boolean });

/** Runs SQL. Without `down` it cannot be undone; an empty list means that there is nothing to undo. */
export function sql(
  up: string | readonly string[],
  down?: string | readonly string[],
  options: SqlOptions = {},
): Operation {
  const steps = readStatements("op.sql", up);
  if (steps.length === 0) throw new ValueError("op.sql takes at least one statement");
  const back = down === undefined ? undefined : readStatements("the way back of op.sql", down);
  const { state = [], transactional } = readOptions("op.sql", options);
  return define({
    source: [
      "sql",
      up,
      down,
      { ...(state.length > 0 && { state }), ...(transactional === false && { transactional }) },
    ],
    description: `run SQL: ${excerpt(steps[0]!)}`,
    transactional: transactional !== false,
    apply: (before) => state.reduce((current, operation) => operation.apply(current), before),
    up: () => steps,
    down: () => back,
  });
}

export type MigrationFunction = (db: Queries) => Promise<void> | void;

/** Runs a function with the connection of the migration, for example to move data. Without `down` it cannot be undone. */
export function run(up: MigrationFunction, down?: MigrationFunction): Operation {
  for (const given of down === undefined ? [up] : [up, down]) {
    if (typeof given !== "function") throw new ValueError(`op.run takes functions, not ${show(given)}`);
  }
  return define({
    source: ["run", up, down],
    description: up.name ? `run ${up.name}` : "run a function",
    apply: (before) => before,
    up: () => [up],
    down: () => (down === undefined ? undefined : [down]),
  });
}

function readStatements(owner: string, given: unknown): readonly string[] {
  const list: unknown[] = Array.isArray(given) ? given : [given];
  if (!list.every((statement) => typeof statement === "string")) {
    throw new ValueError(`${owner} takes SQL, a string or a list of strings, not ${show(given)}`);
  }
  return (list as string[]).filter((statement) => statement.trim() !== "");
}

function excerpt(statement: string): string {
  const line = statement.trim().replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 57)}...` : line;
}

function isOperationCheck(value: unknown): string | undefined {
  return isOperation(value) ? undefined : "an operation that op made";
}
