import { nodeCrypto, nodeOs } from "../../kit/node-modules.js";
import { processWide } from "../../kit/process-wide.js";
import { parentLink } from "./parent-link.js";

/**
 * The id of the machine: a supervisor with its workers, or one process. The name alone is not enough, and neither is the id of a
 * process: in containers that share the network of their host both are the same, `host` and 1. So a random part is added, once for
 * all processes of the machine.
 */
export function machineId(): string {
  return processWide(
    "machineId",
    () => parentLink?.machine ?? `${nodeOs().hostname()} ${nodeCrypto().randomBytes(4).toString("hex")}`,
  );
}
