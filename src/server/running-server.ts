import type { ListenAddress } from "./transport.js";

/** A server that listens. */
export interface RunningServer {
  readonly address: ListenAddress;
  /** Where a client on this machine finds it. */
  readonly url: string;
  /** Drains: requests in flight are answered, then the shutdown hooks run. */
  close(): Promise<void>;
}
