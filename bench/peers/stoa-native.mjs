import { serve as serveStoa } from "./stoa.mjs";

/** The same on the native transport. */
export const serve = (workload, port) => serveStoa(workload, port, { transport: "native" });
