import { existsSync } from "node:fs";
import { aptInstall } from "./apt.mjs";
import { startChild } from "./child.mjs";

/** Another program with the same arguments, such as a newer server, is named by the variable. */
const program = process.env.STOA_TEST_NATS_PROGRAM ?? "/usr/sbin/nats-server";

/** NATS with JetStream. */
export default {
  name: "nats",
  env: "STOA_TEST_NATS",
  async start({ folder, port, log }) {
    if (!existsSync(program)) await aptInstall(["nats-server"], log);
    const args = ["--addr", "127.0.0.1", "--port", String(port), "--jetstream", "--store_dir", folder];
    const { stop } = await startChild(program, args, { ready: "Server is ready", patience: 60_000 });
    return { value: `nats://127.0.0.1:${port}`, stop };
  },
};
