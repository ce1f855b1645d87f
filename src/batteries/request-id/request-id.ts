import { setField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { uuid } from "./uuid.js";

/** Gives every request an id, for the context, the logs and the client. An incoming one is kept as it is. */
export const requestId: Middleware = {
  name: "request-id",
  slot: "request-id",
  early: true,
  before(request) {
    request.context.request_id = incomingId(request) ?? uuid();
  },
  after(request, response) {
    setField(response, "X-Request-ID", request.id);
  },
};

/** The id that the client sent. Of several fields none is the id. */
function incomingId(request: Request): string | null {
  const given = request.source.header("x-request-id");
  if (given === undefined || given === "") return null;
  return given.includes(",") && request.headers.getAll("x-request-id").length > 1 ? null : given;
}
