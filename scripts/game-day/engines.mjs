import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { queries } from "../chaos/subjects/postgres-subject.mjs";
import { eventually } from "../chaos/wait.mjs";
import { freePort } from "../services/ports.mjs";
import postgres from "../services/postgres.mjs";
import replica from "../services/replica.mjs";
import { filled } from "./hurt.mjs";

const quiet = () => {};

/**
 * PostgreSQL with a standby that confirms each commit, on two ports. A promotion kills the primary, makes the standby the
 * primary, and starts a new standby at the other port. The data of each is on a disk that can be full: `mount`
 * makes one of a folder, or resolves to null.
 */
export async function startPostgres(folder, mount = async () => null) {
  const ports = [await freePort(), await freePort()];
  let generation = 0;
  const disks = [null, null];
  const place = async (index) => {
    const own = join(folder, `postgres-${generation++}`);
    await mkdir(own);
    disks[index] = await mount(own);
    return own;
  };
  const values = ports.map((port) => `postgres://app@127.0.0.1:${port}/postgres`);
  let active = 0;
  const servers = [await postgres.start({ folder: await place(0), port: ports[0], log: quiet }), null];
  const query = (text, given) => queries(values[active])(text, given);
  const follow = async () => {
    const other = 1 - active;
    const env = { STOA_TEST_POSTGRES: values[active] };
    servers[other] = await replica.start({ folder: await place(other), port: ports[other], env, log: quiet });
    // Only now: the standby has copied the settings, and as a primary it would wait for a standby that is not there.
    await query("alter system set synchronous_standby_names = '*'");
    await query("select pg_reload_conf()");
    const isThere = async () => (await query("select from pg_stat_replication where sync_state = 'sync'")).length > 0;
    if (!(await eventually(isThere, 60_000))) throw new Error("the standby does not follow");
  };
  await query("alter system set wal_retrieve_retry_interval = '200ms'");
  await query("alter system set max_wal_size = '256MB'");
  await follow();
  return {
    ports,
    query,
    restart: () => servers[active].restart(),
    get hasDisk() {
      return disks[active] !== null;
    },
    /** The primary cannot write. It may end because of that, and is started again. */
    async fill(seconds) {
      await filled(disks[active], seconds);
      const works = query("select 1").then(
        () => true,
        () => false,
      );
      if (!(await works)) await servers[active].restart();
    },
    async promote() {
      const old = servers[active];
      await old.stop();
      servers[active] = null;
      active = 1 - active;
      await servers[active].promote();
      await follow();
    },
    async stop() {
      for (const server of servers) await server?.stop().catch(quiet);
    },
  };
}
