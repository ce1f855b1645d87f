import type { Database, Session } from "../database.js";
import type { StatementInfo } from "../statements.js";
import type { Planner } from "./query-log.js";
import { areAllShown } from "./shown-parameters.js";

/** Milliseconds until the plan of the same statement is logged again. */
const pause = 60_000;
/** Seconds that planning may take. */
const patience = 2;

/**
 * Asks for plans with `explain`, which never runs the statement, in a transaction that is read only and rolled back. One
 * at a time, and not while calls wait for a connection.
 */
export function planner(source: () => Database, withValues: boolean): Planner {
  const planned = new WeakMap<StatementInfo, number>();
  let busy = false;
  return async (info, params) => {
    const last = planned.get(info);
    const database = source();
    if (busy || !info.repeatable || database.stats().waiting > 0) return null;
    if (last !== undefined && performance.now() - last < pause) return null;
    planned.set(info, performance.now());
    busy = true;
    try {
      return await database.session(
        (session) => planOf(session, info.text, params, withValues && areAllShown(info, params)),
        {
          statementTimeout: patience,
        },
      );
    } finally {
      busy = false;
    }
  };
}

/**
 * The plan of a statement. A plan for certain values has them in its conditions. If they must not be shown, it is the one
 * that PostgreSQL makes for any values.
 */
async function planOf(
  session: Session,
  text: string,
  params: readonly unknown[],
  withValues: boolean,
): Promise<string> {
  await session.execute("begin read only");
  try {
    if (withValues) return await explained(session, text, params);
    if (params.length === 0) return withoutStrings(await explained(session, text, params));
    await session.execute("set local plan_cache_mode = force_generic_plan");
    await session.execute(`prepare stoa_plan as ${text}`);
    return await explained(session, `execute stoa_plan(${params.map(() => "null").join(", ")})`, []);
  } finally {
    await session.execute("rollback");
  }
}

async function explained(session: Session, text: string, params: readonly unknown[]): Promise<string> {
  const { rows } = await session.fetchArrays(`explain ${text}`, params, { prepare: false });
  return rows.map(([line]) => String(line)).join("\n");
}

/** A text without parameters may have its values as literals. */
function withoutStrings(plan: string): string {
  return plan.replace(/'(?:[^']|'')*'/g, "'?'");
}
