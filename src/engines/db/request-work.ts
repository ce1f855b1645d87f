import { AsyncLocalStorage } from "node:async_hooks";
import type { Request } from "../../http/request.js";
import type { Middleware } from "../../pipeline/middleware.js";

/** The work of one request on the database: for the log of queries, and for reads that must see its own writes. */
export class RequestWork {
  /** True once a statement may have changed something, or no replica could be used: reads then go to the primary. */
  primaryOnly = false;
  /** The replica of the reads so far: another one could be behind it. */
  replica: object | null = null;
  /** The place in the log of the primary that its reads must have reached; null for none. */
  position: bigint | null = null;
  /** The state of the log of queries for this request; null before its first statement. */
  tally: object | null = null;

  constructor(readonly request: Request) {}
}

/** Made with the first application that needs it: in Node 20 an active storage costs every promise a little. */
let storage: AsyncLocalStorage<RequestWork> | null = null;

/** Middleware that makes the request known to its statements. */
export function requestWork(): Middleware {
  const store = (storage ??= new AsyncLocalStorage());
  const middleware: Middleware = {
    name: "database-work",
    slot: "request-id",
    early: true,
    around: (request, next) => store.run(new RequestWork(request), next),
  };
  return { ...middleware, forRoute: ({ internal }) => (internal ? null : middleware) };
}

/** The work of the request on whose behalf the caller runs; null outside of requests. */
export function currentWork(): RequestWork | null {
  return storage?.getStore() ?? null;
}
