import { options as declare, type OptionsOf, option, type SettingsOf } from "../../kit/config.js";
import type { Logger } from "../../kit/logger.js";
import { is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { EventMap, RecordedEvent } from "./event.js";
import { checkName } from "./names.js";

const subscriptionOptions = declare("subscribe()", {
  /** The group: all workers with this name share its checkpoints, and each event is for one of them. */
  name: option.required(is.text),
  /** Only streams of these categories. */
  categories: option(is.strings),
  /** Only events of these types. */
  types: option(is.strings),
  /** The place at which a new subscription begins. Default `beginning`. */
  start: option(is.oneOf("beginning", "end"), "beginning"),
  /** Events read at a time, and handled between two checkpoints. Default 100. */
  batch: option(is.integer(1, 10_000), 100),
  /**
   * Parts that are handled at the same time, spread over all workers. Events of one stream are in one part, in order. Default 1,
   * at most 64.
   */
  shards: option(is.integer(1, 64), 1),
  /** Failures of one event after which it is skipped, with an error in the log. Default: it is tried until it succeeds. */
  skipAfter: option(is.integer(1), Infinity),
});

export interface SubscriptionOptions extends OptionsOf<typeof subscriptionOptions.fields> {
  readonly name: string;
}

const shardForm = /#\d+\/(\d+)$/;

/** The name of the checkpoint of a part. */
export function shardName(name: string, number: number, of: number): string {
  return of === 1 ? name : `${name}#${number}/${of}`;
}

/** The number of shards in the name of a checkpoint of this subscription; 0 for others. */
export function shardsIn(checkpoint: string, name: string): number {
  if (checkpoint === name) return 1;
  const found = shardForm.exec(checkpoint);
  return found !== null && found.index === name.length && checkpoint.startsWith(name) ? Number(found[1]) : 0;
}

export interface EventContext {
  /** Aborted when the subscription ends or another worker has taken it over. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

export type EventHandler<Events extends EventMap = EventMap> = (
  event: RecordedEvent<Events>,
  context: EventContext,
) => unknown;

/** A subscription or a projection of this process. */
export interface EventSubscription extends AsyncDisposable {
  /** Ends it after the event in progress. Its checkpoint stays. */
  close(): Promise<void>;
}

export interface SubscriptionSettings extends SettingsOf<typeof subscriptionOptions.fields> {
  readonly handler: EventHandler;
}

export function readSubscription(options: SubscriptionOptions, handler: EventHandler): SubscriptionSettings {
  const settings = subscriptionOptions.read([options]);
  const { name } = settings;
  checkName("the name of a subscription", name);
  for (const reserved of ["projection:", "projection-worker:", "worker:", "archive:"]) {
    if (name.startsWith(reserved)) throw new ValueError(`names that begin with '${reserved}' are for the store itself`);
  }
  if (shardForm.test(name)) throw new ValueError(`a name like ${show(name)} is for a shard of a subscription`);
  if (typeof handler !== "function") throw new ValueError("subscribe() takes options and a function");
  return { ...settings, handler };
}
