import type { Logger } from "../../internal/logger.js";
import { type Checks, is, readOptions, required } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { EventMap, RecordedEvent } from "./event.js";
import { checkName } from "./names.js";

export interface SubscriptionOptions {
  /** The group: all workers with this name share one checkpoint, and one of them is active. */
  readonly name: string;
  /** Only streams of these categories. */
  readonly categories?: readonly string[] | undefined;
  /** Only events of these types. */
  readonly types?: readonly string[] | undefined;
  /** The place at which a new subscription begins. Default `beginning`. */
  readonly start?: "beginning" | "end" | undefined;
  /** Events read at a time, and handled between two checkpoints. Default 100. */
  readonly batch?: number | undefined;
  /** Failures of one event after which it is skipped, with an error in the log. Default: it is tried for ever. */
  readonly skipAfter?: number | undefined;
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

export interface SubscriptionSettings {
  readonly name: string;
  readonly categories: readonly string[] | undefined;
  readonly types: readonly string[] | undefined;
  readonly start: "beginning" | "end";
  readonly batch: number;
  readonly skipAfter: number;
  readonly handler: EventHandler;
}

const checks: Checks<SubscriptionOptions> = {
  name: is.text,
  categories: is.strings,
  types: is.strings,
  start: is.oneOf("beginning", "end"),
  batch: is.integer(1, 10_000),
  skipAfter: is.integer(1),
};

export function readSubscription(options: SubscriptionOptions, handler: EventHandler): SubscriptionSettings {
  const given = readOptions<SubscriptionOptions>("subscribe()", options, checks);
  const name = required("subscribe()", given, "name");
  checkName("the name of a subscription", name);
  for (const reserved of ["projection:", "projection-worker:", "archive:"]) {
    if (name.startsWith(reserved)) throw new ValueError(`names that begin with '${reserved}' are for the store itself`);
  }
  if (typeof handler !== "function") throw new ValueError("subscribe() takes options and a function");
  return {
    name,
    categories: given.categories,
    types: given.types,
    start: given.start ?? "beginning",
    batch: given.batch ?? 100,
    skipAfter: given.skipAfter ?? Infinity,
    handler,
  };
}
