import type { Operation } from "./operation.js";
import { commutes, isBarrier, related } from "./optimize/commute.js";
import { merge } from "./optimize/merge.js";

/**
 * Reduces the operations to fewer with the same effect on a schema: a table and its later additions become one, a thing
 * that is made and dropped again becomes nothing. Operations change places only if they are independent, and none ever
 * passes SQL or a function.
 */
export function optimize(operations: readonly Operation[]): readonly Operation[] {
  const current = [...operations];
  for (let start = 0; start < current.length; ) {
    // A merge may let an earlier operation pass that could not before.
    start = mergeInto(current, start) ? 0 : start + 1;
  }
  return current;
}

/** Merges an operation with the next one it can be merged with, in place. Returns false if there is none. */
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
