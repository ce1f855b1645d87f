import { longestKey } from "./config.js";

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A key that the client chooses for this command, such as a random UUID. Requests with the same key and input have their " +
    "effect once, and the response of the first one is sent again.",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: longestKey },
};

const timedOut = (kind: string): string => `The ${kind} did not end in its time.`;

/** The options of a route that document it: the header of a command, and the responses beside those that every route has. */
export function routeDocumentation(kind: "command" | "query", takesKeys: () => boolean): object {
  if (kind === "query") return { responses: { 504: timedOut(kind) } };
  return {
    // Read when the document is made: the database may be enabled after the route is.
    openapi: {
      get parameters() {
        return takesKeys() ? [idempotencyKey] : [];
      },
    },
    responses: {
      400: "The body is not JSON, or the Idempotency-Key cannot be used.",
      409: "A command with the same Idempotency-Key is running, or had another input.",
      504: timedOut(kind),
    },
  };
}
