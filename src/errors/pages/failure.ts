import { jsonResponse, type Response } from "../../http/response.js";

const body = JSON.stringify({ error: "Internal Server Error", status: 500 });

/** The response to a request that failed for a reason that the client must not see. */
export function failureResponse(): Response {
  return jsonResponse(body, 500);
}
