import type { Logger } from "../../internal/logger.js";
import { type Engine, engine } from "../engine.js";
import type { Broker, BrokerName } from "./broker.js";
import { messagingState, prepareMessaging } from "./state.js";

interface BrokerDeclaration<Config> {
  /** The name of the health check, and the prefix of the metrics. */
  readonly name: string;
  readonly enabledBy: string;
  readonly broker: BrokerName;
  /** Seconds that the connection may take at the start. */
  openWithin(config: Config): number;
  /** Makes the broker and loads its library. It must not connect yet. */
  load(config: Config, logger: Logger): Promise<Broker>;
}

interface BrokerHandle {
  readonly load: () => Promise<Broker>;
  broker: Broker | null;
}

/** A broker as an engine of applications. All brokers of an application are used through one client, `app.messaging`. */
export function brokerEngine<Config>(declaration: BrokerDeclaration<Config>): Engine<Config, BrokerHandle> {
  return engine<Config, BrokerHandle>({
    name: declaration.name,
    enabledBy: declaration.enabledBy,
    create: (config, logger) => ({ load: () => declaration.load(config, logger), broker: null }),
    async prepare(handle, _config, host) {
      const messaging = await prepareMessaging(host);
      handle.broker = messagingState(host).replacement?.(declaration.broker) ?? (await handle.load());
      messaging.add(handle.broker);
    },
    open: (handle) => handle.broker!.open(),
    // Brokers have limits of their own, with messages that name the server; this one holds should that fail.
    openWithin: (config) => declaration.openWithin(config) + 10,
    ping: async (handle, signal) => handle.broker?.ping(signal),
    async close({ broker }, host) {
      if (broker === null) return;
      await messagingState(host).messaging?.flush(broker);
      await broker.close();
    },
  });
}
