import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../services/ports.mjs";
import postgres from "../../services/postgres.mjs";
import { startTunnel } from "../tunnel.mjs";
import { eventually, pause } from "../wait.mjs";

/**
 * Processes on a PostgreSQL server of their own, behind a tunnel. The server is restarted like after a crash, and the
 * connections are cut, held back, and broken at one end only.
 *
 * `program` is the file of the processes, `roles` gives the number of each kind. `tables` is SQL for tables of the subject.
 * `begun` is asked until the work goes: faults begin then. `settled` is asked, after the faults and the end of the producers,
 * until nothing is left to do. `check` compares the ledger with the tables.
 */
export async function postgresSubject(place, { program, roles, tables, begun, settled, check }) {
  const { ledger, spawn, compile, folder } = place;
  const home = join(folder, "postgres");
  await mkdir(home);
  // The server may run as another user.
  await chmod(folder, 0o755);
  const server = await postgres.start({ folder: home, port: await freePort(), log: () => {} });
  const tunnel = await startTunnel(Number(new URL(server.value).port));
  try {
    const query = queries(server.value);
    const file = await compile(program);
    await query(tables);
    const url = new URL(server.value);
    url.port = String(tunnel.port);
    const args = (role) => [role, JSON.stringify({ url: url.href, folder: ledger.folder })];
    const programs = Object.entries(roles).flatMap(([role, count]) =>
      Array.from({ length: count }, (_, number) => ({ role, number, program: spawn(file, args(role)) })),
    );
    const found = { ledger, query };
    if (!(await eventually(() => begun(found), 120_000))) {
      throw new Error(`the work did not begin: ${programs.map((one) => one.program.errors).join("\n")}`);
    }
    const ofRole = (wanted) => programs.filter(({ role }) => (role === "worker") === wanted);
    return {
      actors: [
        ...programs.map(({ role, number, program: { faults } }) => ({ name: `${role} ${number}`, faults })),
        { name: "connections", faults: connectionFaults(tunnel) },
        { name: "postgres", faults: serverFaults(server) },
      ],
      async settle() {
        // Producers end first, workers when all is done: one that hangs at its end is a failure of the program.
        await Promise.all(ofRole(false).map((one) => one.program.close()));
        await eventually(() => settled(found), 180_000, 500);
        await Promise.all(ofRole(true).map((one) => one.program.close()));
      },
      check: (faults) => check({ ...found, faults }),
      async stop() {
        await tunnel.close();
        await server.stop();
      },
    };
  } catch (error) {
    await tunnel.close();
    await server.stop();
    throw error;
  }
}

function connectionFaults(tunnel) {
  return {
    cut: async (random) => {
      await tunnel.cut();
      await pause(random.between(50, 2000));
      await tunnel.mend();
    },
    stall: async (random) => {
      tunnel.stall();
      await pause(random.between(200, 6000));
      tunnel.flow();
    },
    deafen: async (random) => {
      tunnel.deafen();
      await pause(random.between(5, 300));
      await tunnel.cut();
      await tunnel.mend();
    },
    orphan: async () => tunnel.orphan(),
    mute: async () => tunnel.mute(),
  };
}

function serverFaults(server) {
  return {
    restart: async (random) => {
      await server.restart();
      // Work gets a while: a server that is always in recovery would show nothing.
      await pause(random.between(1000, 5000));
    },
  };
}

/** Statements of the rig itself, on the server without the tunnel. A server that is being restarted is asked again. */
export function queries(connectionString) {
  return async (text, values) => {
    for (let attempt = 0; ; attempt++) {
      const client = new pg.Client({ connectionString });
      client.on("error", () => {});
      try {
        await client.connect();
        return (await client.query(text, values)).rows;
      } catch (error) {
        if (attempt > 100 || (error.code?.length === 5 && !error.code.startsWith("57"))) throw error;
        await pause(200);
      } finally {
        await client.end().catch(() => {});
      }
    }
  };
}
