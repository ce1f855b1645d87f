import type { Operation } from "./operation.js";
import { commutes, isBarrier, related } from "./optimize/commute.js";
import { merge } from "./optimize/merge.js";

/**
 * Fewer operations that do the same to a schema: a table and what is added to it later become one, what is made and
 * dropped again becomes nothing. Operations change places only where neither knows of the other, and none ever passes
 * SQL or a function.
 */
export function optimize(operations: readonly Operation[]): readonly Operation[] {
  const current = [...operations];
  for (let start = 0; start < current.length; ) {
    // A merge may let an earlier operation pass that could not before.
    start = mergeInto(current, start) ? 0 : start + 1;
  }
  return current;
}

/** Merges an operation with the next that it can be merged with, in place; whether there was one. */
function mergeInto(operations: Operation[], start: number): boolean {
  const first = operations[start]!;
  let passesRight = true;
  for (let end = start + 1; end < operations.length; end++) {
    const second = operations[end]!;
    if (related(first, second) || end === start + 1) {
      const between = operations.slice(start + 1, end);
      const passesLeft = between.every((each) => commutes(each, second));
      const merged = passesLeft || passesRight ? merge(first, second) : undefined;
      if (merged !== undefined) {
        const middle = passesLeft ? [...merged, ...between] : [...between, ...merged];
        operations.splice(start, end - start + 1, ...middle);
        return true;
      }
    }
    if (isBarrier(second)) return false;
    passesRight &&= commutes(first, second);
  }
  return false;
}
