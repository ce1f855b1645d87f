import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aptInstall } from "./apt.mjs";
import { serverUser } from "./postgres.mjs";

const program = "/usr/sbin/pgbouncer";

/** Milliseconds that it gets to come up. */
const patience = 120_000;

/**
 * PgBouncer in transaction mode in front of the PostgreSQL of the tests, for each of its databases. It has so few
 * connections to the server that clients must share them, and it refuses unknown startup parameters.
 */
export default {
  name: "pgbouncer",
  env: "STOA_TEST_PGBOUNCER",
  needs: ["postgres"],
  async start({ folder, port, log, env }) {
    if (!existsSync(program)) await aptInstall(["pgbouncer"], log);
    const server = new URL(env.STOA_TEST_POSTGRES);
    const users = join(folder, "users.txt");
    await writeFile(users, `"${server.username}" ""\n`);
    const settings = {
      listen_addr: "127.0.0.1",
      listen_port: port,
      unix_socket_dir: "",
      auth_type: "trust",
      auth_file: users,
      admin_users: server.username,
      pool_mode: "transaction",
      default_pool_size: 3,
      max_client_conn: 500,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    const file = join(folder, "pgbouncer.ini");
    const databases = `[databases]\n* = host=${server.hostname} port=${server.port}\n`;
    await writeFile(file, `${databases}[pgbouncer]\n${lines.join("")}`);
    // It refuses to run as root, as the server does.
    const [command, ...args] = [...(await serverUser(folder)), program, file];
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
    const stop = async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      // Nothing of it is kept, and its gentler signals have changed their meaning from version to version.
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    try {
      await cameUp(child);
    } catch (error) {
      await stop();
      throw error;
    }
    return { value: `postgres://${server.username}@127.0.0.1:${port}/postgres`, stop };
  },
};

/** Resolves when its log reports the start; later lines are discarded. */
function cameUp(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    const fail = () => reject(new Error(`pgbouncer did not start: ${text.trim().split("\n").at(-1)}`));
    const timer = setTimeout(fail, patience);
    child.once("error", reject);
    child.once("exit", fail);
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      text = `${text}${chunk}`.slice(-10_000);
      if (!text.includes("process up")) return;
      clearTimeout(timer);
      resolve();
    });
  });
}
