import { serve as serveStoa } from "./stoa.mjs";

/** The same on the native transport with io_uring. */
export function serve(workload, port) {
  process.env.STOA_NATIVE = "io_uring";
  return serveStoa(workload, port, { transport: "native" });
}
