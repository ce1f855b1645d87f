import { ValueError } from "../kit/value-error.js";
import { type BodyStream, Response } from "./response.js";

/** A standard web `Response` that a handler returned. */
export function fromWebResponse(web: globalThis.Response): Response {
  if (web.bodyUsed || web.body?.locked) {
    throw new ValueError("the body of a web Response can be sent once: make a new one for each request, or clone() it");
  }
  const response = new Response(web.body === null ? null : begun(web.body));
  response.status = web.status;
  response.type = null;
  for (const [name, value] of web.headers) response.headers.append(name, value);
  return response;
}

/**
 * The body, whose reading begins at once. It may hold a stream of Node, which cannot be reached: until the first read its
 * errors are not handled and end the process, and a cancellation leaves it open.
 */
function begun(body: ReadableStream<Uint8Array>): BodyStream {
  const reader = body.getReader();
  let first: ReturnType<typeof reader.read> | null = reader.read();
  first.catch(() => {});
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const read = first ?? reader.read();
        first = null;
        const { done, value } = await read;
        return done ? { done, value: undefined } : { done, value };
      },
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}
