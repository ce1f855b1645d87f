import { mkdir, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { run } from "../process.mjs";
import { aptInstall } from "./apt.mjs";
import { startChild } from "./child.mjs";

const installed = "/usr/lib/rabbitmq/lib";

/** RabbitMQ, one node. Tests that stop it start their own beside it, with `startRabbit`. */
export default {
  name: "rabbitmq",
  env: "STOA_TEST_RABBITMQ",
  async start({ folder, port, log }) {
    if ((await findScript()) === undefined) await aptInstall(["rabbitmq-server"], log);
    return startRabbit(folder, port);
  },
};

/**
 * Starts a node with its data in the folder; a second start with the same folder and ports finds the data again.
 *
 * @param {string} folder
 * @param {number} port
 * @param {number[] | null} ports those of the first start
 */
export async function startRabbit(folder, port, ports = null) {
  const script = await findScript();
  if (script === undefined) throw new Error("rabbitmq-server is not installed");
  const [distribution, names] = ports ?? (await freePorts(2));
  for (const name of ["home", "mnesia", "log"]) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, "plugins"), "[].");
  const env = {
    ...process.env,
    HOME: join(folder, "home"),
    RABBITMQ_NODENAME: `stoa${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_PID_FILE: join(folder, "pid"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "plugins"),
    RABBITMQ_CONFIG_FILE: join(folder, "none"),
    // A message that leaves a delay queue before its target is back, while the node starts, is sent again after 3 minutes.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "-rabbit dead_letter_worker_publisher_confirm_timeout 5000",
    ERL_EPMD_PORT: String(names),
    ERL_EPMD_ADDRESS: "127.0.0.1",
  };
  // In its folder, because a node that fails writes a dump into the current one. The script itself: the wrapper in /usr/sbin switches to its own user.
  const child = await startChild(script, [], { env, cwd: folder, ready: "completed with", patience: 300_000 });
  const stop = async () => {
    // The script is a shell around the node, and the node's register of names outlives both.
    await killTree(child.pid);
    await child.stop();
    await run("epmd", ["-port", String(names), "-kill"]);
  };
  return {
    value: `amqp://guest:guest@127.0.0.1:${port}`,
    stop,
    ports: [distribution, names],
    kill: () => killTree(child.pid),
    signal: (name) => killTree(child.pid, name),
    /** Runs `rabbitmqctl` on the node. */
    async ctl(...args) {
      const { code, output } = await run(script.replace(/rabbitmq-server$/, "rabbitmqctl"), args, { env });
      if (code !== 0) throw new Error(`rabbitmqctl ${args.join(" ")} failed: ${output}`);
    },
  };
}

/** Ends a process and everything below it at once, or sends another signal to all of them. */
async function killTree(pid, signal = "SIGKILL") {
  const { output } = await run("ps", ["-e", "-o", "pid=,ppid="]);
  const children = new Map();
  for (const line of output.trim().split("\n")) {
    const [child, parent] = line.trim().split(/\s+/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const below = (id) => [id, ...(children.get(id) ?? []).flatMap(below)];
  for (const id of below(pid)) {
    try {
      process.kill(id, signal);
    } catch {
      // It has ended already.
    }
  }
}

async function findScript() {
  const versions = await readdir(installed).catch(() => []);
  const newest = versions
    .filter((name) => name.startsWith("rabbitmq_server-"))
    .sort()
    .at(-1);
  return newest && join(installed, newest, "sbin", "rabbitmq-server");
}

async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve, reject) => {
          const server = createServer().once("error", reject);
          server.listen(0, "127.0.0.1", () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
