/**
 * A PostgreSQL server with TLS. Roles that a test creates with the names in `access` log in under the rules there; all
 * others need no password.
 */

import { chmod, chown, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../process.mjs";
import { aptInstall } from "./apt.mjs";

const access = `
hostssl   all plain_only all reject
hostnossl all tls_only   all reject
host      all password   all scram-sha-256
host      all all        127.0.0.1/32 trust
host      replication all 127.0.0.1/32 trust
host      all all        ::1/128 trust
local     all all        trust
`;

const installed = "/usr/lib/postgresql";

export default {
  name: "postgres",
  env: "STOA_TEST_POSTGRES",
  async start({ folder, port, log }) {
    let programs = await findPrograms();
    if (programs === undefined) {
      await aptInstall(["postgresql"], log);
      programs = await findPrograms();
    }
    const data = join(folder, "data");
    const as = await serverUser(folder);
    await execute(as, [
      `${programs}/initdb`,
      "-D",
      data,
      "-U",
      "app",
      "-A",
      "trust",
      "--no-sync",
      "-E",
      "UTF8",
      "--locale=C.UTF-8",
    ]);
    const tls = await makeCertificate(as, data);
    await writeFile(join(data, "pg_hba.conf"), access);
    const settings = {
      port,
      listen_addresses: "'127.0.0.1,::1'",
      unix_socket_directories: `'${folder}'`,
      fsync: "off",
      default_text_search_config: "'pg_catalog.english'",
      max_connections: 200,
      ...(tls && { ssl: "on" }),
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    await writeFile(join(data, "postgresql.conf"), lines.join(""));
    const control = [`${programs}/pg_ctl`, "-D", data, "-l", join(folder, "log"), "-w"];
    await execute(as, [...control, "start"]);
    const stop = () => execute(as, [...control, "-m", "immediate", "stop"]);
    /** Ends the server like a crash, and starts it again. */
    const restart = () => execute(as, [...control, "-m", "immediate", "restart"]);
    return { value: `postgres://app@127.0.0.1:${port}/postgres`, stop, restart };
  },
};

/** The folder of the newest version that is installed. */
export async function findPrograms() {
  const versions = await readdir(installed).catch(() => []);
  const newest = versions.filter((name) => /^\d+$/.test(name)).sort((a, b) => Number(b) - Number(a))[0];
  return newest && join(installed, newest, "bin");
}

/** The server refuses to run as root: returns the prefix for its commands, and gives it the folder. */
export async function serverUser(folder) {
  if (process.getuid?.() !== 0) return [];
  const { output } = await run("id", ["-u", "postgres"]);
  await chown(folder, Number(output), -1);
  return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"];
}

/**
 * A certificate for the name localhost and no address, so that verify-full accepts the one and refuses the other; false
 * without openssl.
 */
async function makeCertificate(as, data) {
  const [key, certificate] = [join(data, "server.key"), join(data, "server.crt")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"];
  try {
    await execute(as, ["openssl", "req", ...kind, "-keyout", key, "-out", certificate, ...subject]);
  } catch {
    return false;
  }
  await chmod(key, 0o600);
  return true;
}

export async function execute(as, command) {
  const [program, ...args] = [...as, ...command];
  const { code, output } = await run(program, args, { timeout: 120_000 });
  if (code !== 0) throw new Error(`${command[0]} failed: ${output.trim().split("\n").at(-1)}`);
}
