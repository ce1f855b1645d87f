import { options as declare, type OptionsOf, option, type SettingsOf } from "../../kit/config.js";
import type { Logger } from "../../kit/logger.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { EventMap, RecordedEvent } from "./event.js";
import { checkName } from "./names.js";

const subscriptionOptions = declare("subscribe()", {
  /** The group: all workers with this name share one checkpoint, and one of them is active. */
  name: option.required(is.text),
  /** Only streams of these categories. */
  categories: option(is.strings),
  /** Only events of these types. */
  types: option(is.strings),
  /** The place at which a new subscription begins. Default `beginning`. */
  start: option(is.oneOf("beginning", "end"), "beginning"),
  /** Events read at a time, and handled between two checkpoints. Default 100. */
  batch: option(is.integer(1, 10_000), 100),
  /** Failures of one event after which it is skipped, with an error in the log. Default: it is tried until it succeeds. */
  skipAfter: option(is.integer(1), Infinity),
});

export type SubscriptionOptions = OptionsOf<typeof subscriptionOptions.fields> & { readonly name: string };

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
  for (const reserved of ["projection:", "projection-worker:", "archive:"]) {
    if (name.startsWith(reserved)) throw new ValueError(`names that begin with '${reserved}' are for the store itself`);
  }
  if (typeof handler !== "function") throw new ValueError("subscribe() takes options and a function");
  return { ...settings, handler };
}
