import { registerHealthCheck } from "../batteries/health/feature.js";
import { type Meter, meterOf } from "../batteries/metrics/feature.js";
import type { FeatureStages } from "../feature/feature.js";
import { type Host, perHost } from "../feature/host.js";
import { ValueError } from "../internal/value-error.js";
import { Reopening } from "./reopening.js";

/**
 * The contract of engines: a client of a database, a store or a broker. The declaration says how the client is made,
 * opened, asked and closed. From it come, in one place: the start with a time limit and a clear error, the readiness
 * check, the metrics, the reconnection, the drain and the close in reverse order of the start.
 */
export interface EngineDeclaration<Config, Client> {
  /** The engine in one word: the name of its health check, and the prefix of its metrics. */
  readonly name: string;
  /** The call that enables it, for messages: "enableDatabase". */
  readonly enabledBy: string;
  /** Makes the client. It must not connect yet. */
  create(config: Config, host: Host): Client;
  /** Connects. An error ends the start. */
  open(client: Client, host: Host): Promise<void>;
  /** Seconds that `open` may take. */
  openWithin(config: Config): number;
  /** Asks the engine for a sign of life. A rejection makes readiness DOWN. */
  ping(client: Client, signal: AbortSignal): Promise<unknown>;
  /** Seconds that `ping` may take. Default 2. */
  readonly pingWithin?: number;
  /** Gauges by name, read at each scrape. */
  gauges?(client: Client, config: Config): Readonly<Record<string, EngineGauge>>;
  /** Lets the client count its calls. Called where metrics are enabled only. */
  measure?(client: Client, meter: Meter): void | Promise<void>;
  /** Offers stores to the other features, with `host.share`; warns of what the settings imply. */
  prepare?(client: Client, config: Config, host: Host): void | Promise<void>;
  /**
   * For a client that holds one connection and does not reconnect by itself: calls back when the connection is lost. The
   * contract then opens it again, with growing pauses, until that succeeds or the application ends.
   */
  onLost?(client: Client, lost: (error: unknown) => void): void;
  /** Stops taking work and finishes the work under way. */
  drain?(client: Client): Promise<void>;
  close(client: Client, host: Host): Promise<void>;
}

export interface EngineGauge {
  readonly help: string;
  read(): number;
}

/** An engine for the feature that shows it to users. */
export interface Engine<Config, Client> {
  /** Enables it for an application. A second call is an error: nothing would identify the two clients. */
  enable(host: Host, config: Config): void;
  /** The client; `needs` names the member that was read, for the error where the engine is not enabled. */
  of(host: Host, needs: string): Client;
  readonly stages: Required<FeatureStages>;
}

interface Enabled<Config, Client> {
  readonly config: Config;
  readonly client: Client;
  readonly reopening: Reopening | null;
}

export function engine<Config, Client>(declaration: EngineDeclaration<Config, Client>): Engine<Config, Client> {
  const { name, enabledBy } = declaration;
  const stateOf = perHost((): { enabled: Enabled<Config, Client> | null } => ({ enabled: null }));
  const reopeningOf = (host: Host, client: Client): Reopening | null => {
    if (declaration.onLost === undefined) return null;
    const reopening = new Reopening(name, host.logger, () => declaration.open(client, host));
    declaration.onLost(client, (error) => reopening.begin(error));
    return reopening;
  };
  return {
    enable(host, config) {
      const state = stateOf(host);
      if (state.enabled !== null) throw new ValueError(`${enabledBy} has been called already`);
      const client = declaration.create(config, host);
      const reopening = reopeningOf(host, client);
      state.enabled = { config, client, reopening };
      registerHealthCheck(
        host,
        name,
        async ({ signal }) => {
          reopening?.check();
          await declaration.ping(client, signal);
        },
        { timeout: declaration.pingWithin ?? 2 },
      );
    },
    of(host, needs) {
      const { enabled } = stateOf(host);
      if (enabled === null) throw new Error(`${needs} needs app.${enabledBy}()`);
      return enabled.client;
    },
    stages: {
      async prepare(host) {
        const { enabled } = stateOf(host);
        if (enabled === null) return;
        const { client, config } = enabled;
        await declaration.prepare?.(client, config, host);
        const meter = meterOf(host);
        if (meter === null) return;
        for (const [gauge, { help, read }] of Object.entries(declaration.gauges?.(client, config) ?? {})) {
          meter.metrics.gauge(meter.named(`${name}_${gauge}`), { help, collect: read });
        }
        await declaration.measure?.(client, meter);
      },
      async open(host) {
        const { enabled } = stateOf(host);
        if (enabled === null) return;
        const seconds = declaration.openWithin(enabled.config);
        await within(seconds, declaration.open(enabled.client, host), `the ${name} did not open within ${seconds} s`);
      },
      async drain(host) {
        const { enabled } = stateOf(host);
        if (enabled !== null) await declaration.drain?.(enabled.client);
      },
      async close(host) {
        const { enabled } = stateOf(host);
        if (enabled === null) return;
        enabled.reopening?.end();
        await declaration.close(enabled.client, host);
      },
    },
  };
}

async function within(seconds: number, opening: Promise<void>, message: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), seconds * 1000);
  });
  try {
    await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}
