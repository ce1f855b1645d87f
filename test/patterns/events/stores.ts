import { App } from "../../../src/app/app.js";
import type { Logger } from "../../../src/kit/logger.js";
import type { EventSourcingOptions } from "../../../src/patterns/events/config.js";
import { engines, makeDatabase } from "../../engines/db/engines.js";

export type StoreKind = "memory" | "pglite" | "postgres";

/** The stores that a suite runs against: the server where there is one, and the embedded one without it or with `--all`. */
export function storeKinds(server: string | undefined): readonly StoreKind[] {
  return ["memory", ...engines(server).map(({ name }) => name)];
}

/** A place for events that several applications can share, one after the other or, on a server, at the same time. */
export async function makePlace(kind: StoreKind, server: string | undefined): Promise<Place> {
  const { url, drop } = kind === "postgres" ? await makeDatabase(server!) : { url: "pglite:", drop: async () => {} };
  const apps: App[] = [];
  return {
    kind,
    url,
    async start(options = {}, prepare = () => {}) {
      const app = new App();
      apps.push(app);
      app.logger = quiet;
      if (kind !== "memory") app.enableDatabase({ url, poolSize: 5 });
      app.enableEventSourcing({ storeType: kind === "memory" ? "memory" : "postgres", poll: "50ms", ...options });
      prepare(app);
      await app.start();
      return app;
    },
    async drop() {
      await Promise.all(apps.map((app) => app.stop()));
      await drop();
    },
  };
}

export interface Place {
  readonly kind: StoreKind;
  readonly url: string;
  start(options?: EventSourcingOptions, prepare?: (app: App) => void): Promise<App>;
  drop(): Promise<void>;
}

export const quiet: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => quiet,
};

/** A logger that keeps the lines it is given. */
export function recorder(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const write = (message: string): void => void lines.push(message);
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  return { logger, lines };
}
