import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/services/ports.mjs";
import postgres from "../../scripts/services/postgres.mjs";

/** A PostgreSQL server of one test file, which it may restart. */
export interface OwnServer {
  readonly url: string;
  /** Ends the server like a crash, and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnServer(): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-server-"));
  const server = await postgres.start({ folder, port: await freePort(), log: () => {} });
  return {
    url: server.value,
    restart: () => server.restart(),
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
