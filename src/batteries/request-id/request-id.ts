import { setField } from "../../http/response-fields.js";
import { nodeCrypto } from "../../internal/node-modules.js";
import type { Middleware } from "../../pipeline/middleware.js";

const maxLength = 200;

/** Gives every request an id, for the context, the logs and the client. */
export const requestId: Middleware = {
  name: "request-id",
  slot: "request-id",
  early: true,
  before(request) {
    const given = request.source.header("x-request-id");
    request.context.request_id = given !== undefined && isSafe(given) ? given : nodeCrypto().randomUUID();
  },
  after(request, response) {
    setField(response, "X-Request-ID", request.id);
  },
};

/**
 * Whether an id can be sent on as it is: printable ASCII of a bounded length. A comma means that there were several, of
 * which none is the id.
 */
function isSafe(id: string): boolean {
  if (id.length === 0 || id.length > maxLength) return false;
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    if (code < 0x20 || code > 0x7e || code === 0x2c) return false;
  }
  return true;
}
