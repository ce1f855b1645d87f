import { describeError } from "../errors/describe.js";
import type { Request } from "./request.js";

/**
 * Logs that the body of a response failed while it was sent. A client that has left is no error. `report` is for a
 * request that no application has.
 */
export function reportBrokenBody(request: Request | null, error: unknown, report: (error: unknown) => void): void {
  if (request !== null && isAbortOf(request, error)) return;
  if (request === null || request.host === null) {
    report(error);
    return;
  }
  request.error ??= error;
  request.host.logger.error(`${request.method} ${request.path} was cut off: its body failed`, { error });
}

/** True if an error only says that its request was aborted: the client has left, or the time was up. */
export function isAbortOf(request: Request, error: unknown): boolean {
  if (!request.aborted) return false;
  return error === request.signal.reason || describeError(error).name === "AbortError";
}
