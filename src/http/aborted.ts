import { describeError } from "../errors/describe.js";
import type { Request } from "./request.js";

/** True if an error only says that its request was aborted: the client has left, or the time was up. */
export function isAbortOf(request: Request, error: unknown): boolean {
  if (!request.aborted) return false;
  return error === request.signal.reason || describeError(error).name === "AbortError";
}
