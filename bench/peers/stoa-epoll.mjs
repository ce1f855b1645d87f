import { serve as serveStoa } from "./stoa.mjs";

/** The same on the native transport with epoll. */
export function serve(workload, port) {
  process.env.STOA_NATIVE = "epoll";
  return serveStoa(workload, port, { transport: "native" });
}
