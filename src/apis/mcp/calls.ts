import type { Request } from "../../http/request.js";
import type { McpCall } from "./call.js";

const calls = new WeakMap<Request, McpCall>();

/** The call that a request belongs to; null for other requests. */
export function callOf(request: Request): McpCall | null {
  return calls.get(request) ?? null;
}

export function setCall(request: Request, call: McpCall): void {
  calls.set(request, call);
}
