import { type Feature, feature } from "../../feature/feature.js";
import type { Host } from "../../feature/host.js";
import { configFrom } from "../../kit/config.js";
import type { Logger } from "../../kit/logger.js";
import { show } from "../../kit/options.js";
import { type Duration, seconds } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { declareEngine } from "../engine.js";
import { type Broker, isBrokerName } from "./broker.js";
import { messagingState, prepareMessaging } from "./state.js";

/** The parts of the application that a broker can use when it is created. */
export interface BrokerContext {
  /** The application's name as a group of consumers; undefined if it has none. */
  readonly application: string | undefined;
  readonly logger: Logger;
  /** The number of processes that serve the application on this machine. */
  readonly workers: number;
}

interface Declaration<Config> {
  /** The name of the broker: in topics, consumers, health checks and metrics. Lower-case letters, digits and `_`. */
  readonly name: string;
  /**
   * Creates the broker and loads its library, when the application starts. The broker connects in its `open`. The
   * context is empty for a program without an application.
   */
  create(config: Config, context: Partial<BrokerContext>): Broker | Promise<Broker>;
  /** The time that `open` may take, with all its tries. Default 10 seconds. */
  openWithin?(config: Config): Duration;
  /** The name of the health check. Default: the name of the broker. */
  readonly healthCheck?: string;
}

/** A broker as its package declares it. */
export interface BrokerDefinition<Given extends readonly unknown[], Config> extends Declaration<Config> {
  /** The class of its options, made with `config()`. `app.install` takes its arguments. */
  readonly config: new (
    ...given: Given
  ) => Config;
}

/** A broker for `app.install(broker, ...options)`. */
export interface BrokerFeature<Given extends readonly unknown[]> extends Feature<object, Given> {
  /** Creates the broker without an application, for `openMessaging()` and for tests. It is not connected yet. */
  create(...given: Given): Promise<Broker>;
}

/**
 * Declares a broker: the package of a driver exports the result, and applications install it. All brokers of an application
 * are used through `app.publish`, `app.onMessage` and `app.messaging`.
 */
export function defineBroker<Given extends readonly unknown[], Config>(
  definition: BrokerDefinition<Given, Config>,
): BrokerFeature<Given>;
/** @internal A broker of the framework: a method of every application enables it. */
export function defineBroker<Face, Given extends readonly unknown[], Config>(
  definition: BrokerDefinition<Given, Config> & { readonly enabledBy: keyof Face & string },
): Feature<Face>;
export function defineBroker<Config>(
  definition: BrokerDefinition<never, Config> & { readonly enabledBy?: string },
): unknown {
  const { name, config, enabledBy, healthCheck = name } = definition;
  const allowed = isBrokerName(name);
  if (allowed !== undefined)
    throw new ValueError(`option 'name' in defineBroker must be ${allowed}, not ${show(name)}`);
  const inner = declareEngine<Config, Broker>({
    name: healthCheck,
    enabledBy: enabledBy ?? `install(${name})`,
    async create(settings, _logger, host) {
      const messaging = await prepareMessaging(host);
      const context = { application: groupOf(host), logger: host.logger, workers: host.settings.workers };
      const broker = messagingState(host).replacement?.(name) ?? (await definition.create(settings, context));
      // Topics find a broker by its name.
      if (broker.name !== name && messagingState(host).replacement === null) {
        await broker.close();
        throw new ValueError(`defineBroker('${name}') has created a broker of the name ${show(broker.name)}`);
      }
      messaging.add(broker);
      return broker;
    },
    open: (broker) => broker.open(),
    // Brokers have their own limits, with messages that name the server; this one applies if those fail.
    openWithin: (settings) => seconds(definition.openWithin?.(settings) ?? 10) + 10,
    ping: async (broker, signal) => broker.ping(signal),
    async close(broker, host) {
      await messagingState(host).messaging?.flush(broker);
      await broker.close();
    },
  });
  const install = (host: Host, ...given: readonly unknown[]): void => {
    const { brokers } = messagingState(host);
    const settings = configFrom(config, given);
    if ((brokers.get(name) ?? inner) !== inner) {
      throw new ValueError(`the application has a broker of the name ${name} already`);
    }
    inner.enable(host, settings);
    brokers.set(name, inner);
  };
  const made = feature<object, readonly unknown[]>({
    name: `${name} broker`,
    isEngine: true,
    install,
    ...(enabledBy !== undefined && { setup: { [enabledBy]: install } }),
    ...inner.stages,
  } as never);
  return { ...made, create: async (...given: readonly unknown[]) => definition.create(configFrom(config, given), {}) };
}

/** The application's name as a group of consumers. */
function groupOf({ settings }: Host): string | undefined {
  return settings.name?.replaceAll(/[^A-Za-z0-9._-]+/g, "-") || undefined;
}
