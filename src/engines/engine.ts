import { registerHealthCheck } from "../batteries/health/feature.js";
import { type Meter, meterOf } from "../batteries/metrics/feature.js";
import type { FeatureStages } from "../feature/feature.js";
import { type Host, perHost } from "../feature/host.js";
import { deferredClient, notStarted } from "../kit/before-start.js";
import type { Logger } from "../kit/logger.js";
import { within } from "../kit/time/within.js";
import type { Tracer } from "../kit/tracer.js";
import { ValueError } from "../kit/value-error.js";
import { Reopening } from "./reopening.js";

/**
 * The contract of engines: a client of a database, a store or a broker. The declaration says how the client is made,
 * opened, asked and closed. From it come, in one place: the start with a time limit and a clear error, the readiness
 * check, the metrics, the spans, the reconnection, the drain and the close in reverse order of the start.
 */
export interface EngineDeclaration<Config, Client> {
  /** The engine in one word: the name of its health check, and the prefix of its metrics. */
  readonly name: string;
  /** The call that enables it, for messages: "enableDatabase". */
  readonly enabledBy: string;
  /**
   * Loads the code and makes the client, at the start. It must not connect yet. The application's own logger may be set
   * after this: the one given writes to whichever it has when a line is written.
   */
  create(config: Config, logger: Logger, host: Host): Client | Promise<Client>;
  /** The error of a client that is used before the start. Default an `Error`. */
  refuse?(message: string): Error;
  /** Connects. An error ends the start. */
  open(client: Client, host: Host, config: Config): Promise<void>;
  /** Seconds that `open` may take. */
  openWithin(config: Config): number;
  /**
   * True if start and readiness depend on the engine. Without a required one the start fails and readiness is DOWN; without
   * another one the application starts, and readiness is DEGRADED. Default true.
   */
  required?(config: Config): boolean;
  /** Asks the engine for a sign of life. A rejection makes readiness DOWN, or DEGRADED if it is not required. */
  ping(client: Client, signal: AbortSignal): Promise<unknown>;
  /** Gauges by name, read at each scrape. */
  gauges?(client: Client, config: Config): Readonly<Record<string, EngineGauge>>;
  /** Lets the client count its calls. Called where metrics are enabled only. */
  measure?(client: Client, meter: Meter): void | Promise<void>;
  /** Lets the client record its calls as spans. Called at the start where something exports them. */
  trace?(client: Client, tracer: Tracer): void | Promise<void>;
  /** Offers stores to the other features, with `host.share`; warns of what the settings imply. */
  prepare?(client: Client, config: Config, host: Host): void | Promise<void>;
  /** Returns a sentence for each setting that has no effect; see the stage `review` of features. */
  review?(config: Config, host: Host): readonly (string | false)[];
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
  /**
   * The client; `needs` names the member that was read, for the error where the engine is not enabled. Before the start it
   * is a stand-in, which becomes the client; `face` gives the part of it that users see, null while there is none.
   */
  of(host: Host, needs: string): Client;
  of<Face extends object>(host: Host, needs: string, face: (client: Client) => Face | null): Face;
  readonly stages: Required<Pick<FeatureStages, "prepare" | "review" | "open" | "drain" | "close">>;
}

interface Enabled<Config, Client> {
  readonly config: Config;
  /** Null before the start. */
  client: Client | null;
  early: object | null;
  reopening: Reopening | null;
}

/** An enabled engine, for a command that finds out whether it can be reached. */
export interface EngineProbe {
  readonly name: string;
  /** The call that enabled it. */
  readonly enabledBy: string;
  readonly required: boolean;
  /** Connects, asks for a sign of life and closes. To be called in place of the start, once all features are prepared. */
  probe(): Promise<void>;
}

/** Seconds that a ping may take. */
const pingWithin = 2;

/** The engines that an application has enabled. */
export const enginesOf = perHost((): EngineProbe[] => []);

export function declareEngine<Config, Client extends object>(
  declaration: EngineDeclaration<Config, Client>,
): Engine<Config, Client> {
  const { name, enabledBy } = declaration;
  const stateOf = perHost((): { enabled: Enabled<Config, Client> | null } => ({ enabled: null }));
  const isRequired = (config: Config): boolean => declaration.required?.(config) ?? true;
  const openInTime = (host: Host, client: Client, config: Config) => {
    const seconds = declaration.openWithin(config);
    return within(declaration.open(client, host, config), seconds * 1000, () => {
      throw new Error(`the ${name} did not open within ${seconds} s`);
    });
  };
  /** Adds the cure to an error of the first connection that has none. */
  const cured = (error: unknown): unknown => {
    if (error instanceof Error && !(error instanceof ValueError) && !error.message.includes("; ")) {
      error.message += `; is the server running, and does app.${enabledBy}() have its address and password?`;
    }
    return error;
  };
  const reopeningOf = (host: Host, client: Client, config: Config): Reopening | null => {
    if (declaration.onLost === undefined) return null;
    const reopening = new Reopening(name, loggerOf(host), {
      open: () => openInTime(host, client, config),
      close: () => declaration.close(client, host),
    });
    declaration.onLost(client, (error) => reopening.begin(error));
    return reopening;
  };
  const of = (host: Host, needs: string, face: (client: Client) => object | null = (client) => client) => {
    const { enabled } = stateOf(host);
    if (enabled === null) throw new Error(`${needs} needs app.${enabledBy}()`);
    const find = () => enabled.client && face(enabled.client);
    return find() ?? (enabled.early ??= deferredClient(needs, find, declaration.refuse));
  };
  return {
    enable(host, config) {
      const state = stateOf(host);
      if (state.enabled !== null) throw new ValueError(`${enabledBy} has been called already`);
      const enabled: Enabled<Config, Client> = { config, client: null, early: null, reopening: null };
      state.enabled = enabled;
      enginesOf(host).push({
        name,
        enabledBy,
        required: isRequired(config),
        async probe() {
          const client = enabled.client!;
          try {
            await openInTime(host, client, config);
            await declaration.ping(client, AbortSignal.timeout(pingWithin * 1000));
          } catch (error) {
            throw cured(error);
          } finally {
            await declaration.close(client, host);
          }
        },
      });
      registerHealthCheck(
        host,
        name,
        async ({ signal }) => {
          const { client, reopening } = enabled;
          if (client === null) throw new Error(notStarted(`app.${name}`));
          reopening?.check();
          await declaration.ping(client, signal);
        },
        { timeout: pingWithin, critical: isRequired(config) },
      );
    },
    of: of as Engine<Config, Client>["of"],
    stages: {
      async prepare(host) {
        const { enabled } = stateOf(host);
        if (enabled === null) return;
        const { config } = enabled;
        const client = (enabled.client = await declaration.create(config, loggerOf(host), host));
        enabled.reopening = reopeningOf(host, client, config);
        await declaration.prepare?.(client, config, host);
        const meter = meterOf(host);
        if (meter === null) return;
        for (const [gauge, { help, read }] of Object.entries(declaration.gauges?.(client, config) ?? {})) {
          meter.metrics.gauge(meter.named(`${name}_${gauge}`), { help, collect: read });
        }
        await declaration.measure?.(client, meter);
      },
      review(host) {
        const { enabled } = stateOf(host);
        return enabled === null ? [] : declaration.review?.(enabled.config, host);
      },
      async open(host) {
        const { enabled } = stateOf(host);
        if (enabled === null) return;
        const { client, config, reopening } = enabled;
        if (host.tracer !== null) await declaration.trace?.(client!, host.tracer);
        try {
          await openInTime(host, client!, config);
        } catch (error) {
          if (reopening === null || isRequired(config)) throw cured(error);
          reopening.begin(cured(error));
        }
      },
      async drain(host) {
        const { enabled } = stateOf(host);
        if (enabled?.client) await declaration.drain?.(enabled.client);
      },
      async close(host) {
        const { enabled } = stateOf(host);
        if (!enabled?.client) return;
        enabled.reopening?.end();
        await declaration.close(enabled.client, host);
      },
    },
  };
}

/** The logger that the application has when a line is written. Reading `host.logger` fixes its format, too early here. */
function loggerOf(host: Host): Logger {
  return {
    debug: (...line) => host.logger.debug(...line),
    info: (...line) => host.logger.info(...line),
    warn: (...line) => host.logger.warn(...line),
    error: (...line) => host.logger.error(...line),
    child: (fields) => host.logger.child(fields),
  };
}
