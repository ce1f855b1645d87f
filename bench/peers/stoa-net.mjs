import { serve as serveStoa } from "./stoa.mjs";

/** The same on node:net. `stoa` is on the native transport where that is built, with io_uring where the system allows it. */
export const serve = (workload, port) => serveStoa(workload, port, { transport: "net" });
