/** One contestant with one workload, in a process of its own: `serve.mjs <peer file> <workload key> <port> [variant]`. */
import { loadWorkload } from "./lib/load.mjs";

const [peer, key, port, variant] = process.argv.slice(2);
const workload = await loadWorkload(key, variant);
const { serve } = await import(peer);
await serve(workload, Number(port));
