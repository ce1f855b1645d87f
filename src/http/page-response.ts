import { Response } from "./response.js";

/** A page of the framework. It loads and runs only what the policy names, and no cache keeps it. */
export function pageResponse(html: string, policy: readonly string[]): Response {
  const response = Response.html(html);
  response.addField("Content-Security-Policy", [...policy, "base-uri 'none'", "form-action 'none'"].join("; "));
  response.addField("X-Content-Type-Options", "nosniff");
  response.addField("Referrer-Policy", "no-referrer");
  response.addField("Cache-Control", "no-store");
  return response;
}
