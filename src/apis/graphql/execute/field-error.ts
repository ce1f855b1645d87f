import { locatedError } from "../graphql-js.js";
import { keysOf, type Path } from "./path.js";
import type { FieldPlan, Run } from "./plan.js";

/** Null for an error at a place that may be null; else the error is passed to the parent. */
export function fieldError(run: Run, field: FieldPlan, nonNull: boolean, path: Path, raw: unknown): null {
  const error = locatedError(raw, field.nodes as FieldPlan["nodes"][number][], keysOf(path));
  if (nonNull) throw error;
  run.add(error, path);
  return null;
}
