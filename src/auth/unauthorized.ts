import { UnauthorizedError } from "../errors/http-error.js";

/**
 * The 401 of an authentication middleware, with exactly the contract's body and the challenge (RFC 9110 section
 * 11.6.1).
 */
export function unauthorized(detail: string, challenge: string): UnauthorizedError {
  return new UnauthorizedError(detail, {
    headers: { "WWW-Authenticate": challenge },
    body: { error: "Unauthorized", detail, status: 401 },
  });
}
