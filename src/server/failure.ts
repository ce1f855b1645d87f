import { jsonResponse, type Response } from "../http/response.js";

const body = JSON.stringify({ error: "Internal Server Error", status: 500 });

/** The answer to a request that a transport itself failed at. */
export function failureResponse(): Response {
  return jsonResponse(body, 500);
}
