import { AsyncLocalStorage } from "node:async_hooks";
import type { GrpcCall } from "./grpc-call.js";

/** Made with the first channel: in Node 20 an active storage costs every promise a little. */
let storage: AsyncLocalStorage<GrpcCall> | null = null;

/** Each call that is served after this is known to the calls that it makes. */
export function followCalls(): void {
  storage ??= new AsyncLocalStorage();
}

export function insideCall<T>(call: GrpcCall, work: () => T): T {
  return storage === null ? work() : storage.run(call, work);
}

/** The call on whose behalf the caller runs; null outside of calls. */
export function currentCall(): GrpcCall | null {
  return storage?.getStore() ?? null;
}
