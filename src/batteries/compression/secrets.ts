import type { Request } from "../../http/request.js";

const marked = new WeakSet<Request>();
let anyMarked = false;

/**
 * Says that the answer to this request holds a secret, a CSRF token for one. It is then not compressed: the length of a
 * compressed body tells who can choose another part of it, bit by bit, what the secret is (BREACH).
 */
export function markSecret(request: Request): void {
  anyMarked = true;
  marked.add(request);
}

export function holdsSecret(request: Request): boolean {
  return anyMarked && marked.has(request);
}
