import { type Feature, feature } from "../feature/feature.js";
import { type Host, isStarted } from "../feature/host.js";
import { configFrom } from "../kit/config.js";
import { type Duration, seconds } from "../kit/time/duration.js";
import { declareEngine } from "./engine.js";

/** A client of an external system from outside: `app.install(mail, { url })` adds `app.mail` and `request.mail`. */
export interface EngineFeatureDefinition<Name extends string, Given extends readonly unknown[], Config, Client> {
  /** The member of applications and requests, and the name of the health check. */
  readonly name: Name;
  /** The class of its options, made with `config()`. `app.install` takes its arguments. */
  readonly config: new (
    ...given: Given
  ) => Config;
  /** Connects, before the first startup hook, and returns the client. */
  open(settings: Config, host: Host): Client | Promise<Client>;
  /** The longest time for `open`. Default 10 seconds. */
  readonly openWithin?: Duration;
  /** Asks for a sign of life. A rejection makes readiness DOWN, or DEGRADED if it is not required. */
  ping(client: Client, signal: AbortSignal): unknown;
  /** Finishes the work under way, when the server drains. */
  drain?(client: Client): unknown;
  close(client: Client): unknown;
  /** True if start and readiness depend on it. Default true. */
  readonly required?: boolean;
}

interface Holder<Settings, Client> {
  readonly settings: Settings;
  /** Null until `open` has returned it. */
  client: Client | null;
  closed: boolean;
}

export function engineFeature<Name extends string, Given extends readonly unknown[], Config, Client>(
  definition: EngineFeatureDefinition<Name, Given, Config, Client>,
): Feature<{ readonly [K in Name]: Client }, Given> {
  const { name, config, openWithin = 10, required = true } = definition;
  const inner = declareEngine<Config, Holder<Config, Client>>({
    name,
    enabledBy: `install(${name})`,
    create: (settings) => ({ settings, client: null, closed: false }),
    openWithin: () => seconds(openWithin),
    required: () => required,
    async open(holder, host) {
      const client = await definition.open(holder.settings, host);
      // The time of this try was over: the application has ended in between, or an earlier or a later try has succeeded.
      if (holder.closed || holder.client !== null) await definition.close(client);
      else holder.client = client;
    },
    // The client reconnects by itself. The contract tries again only if it could not be opened, and is not required.
    onLost: () => {},
    async ping({ client }, signal) {
      if (client === null) throw new Error(`${name} is not connected`);
      await definition.ping(client, signal);
    },
    async drain({ client }) {
      if (client !== null) await definition.drain?.(client);
    },
    async close(holder) {
      const { client } = holder;
      holder.closed = true;
      holder.client = null;
      if (client !== null) await definition.close(client);
    },
  });
  const clientOf = (host: Host, member: string) =>
    inner.of(host, member, ({ client }) => {
      if (client === null && isStarted(host)) throw new Error(`${member} is not connected`);
      return client as object | null;
    });
  return feature<object, Given>({
    name,
    isEngine: true,
    install: (host: Host, ...given: Given) => inner.enable(host, configFrom(config, given)),
    values: { [name]: (host: Host) => clientOf(host, `app.${name}`) },
    requestMembers: { [name]: (host: Host) => clientOf(host, `request.${name}`) },
    ...inner.stages,
  } as never) as never;
}
