import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { execute, findPrograms, serverUser } from "./postgres.mjs";

/** A standby server that follows the PostgreSQL server of the tests, made with pg_basebackup. */
export default {
  name: "replica",
  env: "STOA_TEST_REPLICA",
  needs: ["postgres"],
  async start({ folder, port, env }) {
    const programs = await findPrograms();
    const primary = new URL(env.STOA_TEST_POSTGRES);
    const data = join(folder, "data");
    const as = await serverUser(folder);
    const from = ["-h", primary.hostname, "-p", primary.port, "-U", primary.username];
    await execute(as, [
      `${programs}/pg_basebackup`,
      ...from,
      "-D",
      data,
      "-R",
      "-X",
      "stream",
      "-c",
      "fast",
      "--no-sync",
    ]);
    // Later lines win over those of the primary, which were copied.
    await appendFile(join(data, "postgresql.conf"), `port = ${port}\nunix_socket_directories = '${folder}'\n`);
    const control = [`${programs}/pg_ctl`, "-D", data, "-l", join(folder, "log"), "-w"];
    await execute(as, [...control, "start"]);
    const stop = () => execute(as, [...control, "-m", "immediate", "stop"]);
    /** Ends the server like a crash, and starts it again. */
    const restart = () => execute(as, [...control, "-m", "immediate", "restart"]);
    /** Makes it a primary. */
    const promote = () => execute(as, [...control, "promote"]);
    return { value: `postgres://${primary.username}@127.0.0.1:${port}/postgres`, stop, restart, promote };
  },
};
