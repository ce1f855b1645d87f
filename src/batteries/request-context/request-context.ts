import { AsyncLocalStorage } from "node:async_hooks";
import type { Request } from "../../http/request.js";
import type { Middleware } from "../../pipeline/middleware.js";

const storage = new AsyncLocalStorage<Request>();

/** Makes the request known to everything that runs on its behalf. */
export const requestContext: Middleware = {
  name: "request-context",
  slot: "request-id",
  early: true,
  around: (request, next) => storage.run(request, next),
};

/** Runs a function on behalf of another request than the current one. */
export function onBehalfOf<T>(request: Request, run: () => T): T {
  return storage.getStore() === undefined ? run() : storage.run(request, run);
}

/** The request on whose behalf the caller runs. Needs `app.enableRequestContext()`. */
export function currentRequest(): Request {
  const request = storage.getStore();
  if (!request) {
    throw new Error(
      "there is no current request: call app.enableRequestContext() before the start, and this from within a request",
    );
  }
  return request;
}
