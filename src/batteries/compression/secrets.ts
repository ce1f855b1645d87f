import type { Request } from "../../http/request.js";

const marked = new WeakSet<Request>();
let anyMarked = false;

/**
 * Marks a request whose response holds a secret, such as a CSRF token. It is then not compressed: the length of a
 * compressed body reveals the secret, bit by bit, to a client that can choose another part of the body (BREACH).
 */
export function markSecret(request: Request): void {
  anyMarked = true;
  marked.add(request);
}

export function holdsSecret(request: Request): boolean {
  return anyMarked && marked.has(request);
}
