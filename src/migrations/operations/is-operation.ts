import type { Operation } from "../operation.js";

export function isOperation(value: unknown): value is Operation {
  if (typeof value !== "object" || value === null) return false;
  const { apply, up, down, source } = value as Partial<Operation>;
  return [apply, up, down].every((each) => typeof each === "function") && Array.isArray(source);
}
