import { serve as serveStoa } from "./stoa.mjs";

/** The same on the transport over node:http. */
export const serve = (workload, port) => serveStoa(workload, port, { transport: "node" });
