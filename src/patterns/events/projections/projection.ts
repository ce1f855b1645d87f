import type { Transaction } from "../../../engines/db/database.js";
import type { SqlFragment } from "../../../engines/db/sql/sql.js";
import { options as declare, type OptionsOf, option } from "../../../kit/config.js";
import { type Check, is } from "../../../kit/options.js";
import type { EventsOf } from "../aggregate.js";
import type { EventMap, RecordedEvent } from "../event.js";
import { categoryOfClass, checkName } from "../names.js";
import type { PersonalOptions } from "../personal/personal.js";

/** The tables of a projection by name, quoted for statements. While it is rebuilt they are other ones. */
export type ProjectionTables<Tables extends string> = { readonly [Name in Tables]: SqlFragment };

export interface ProjectionContext<Tables extends string> {
  /** The transaction in which the checkpoint moves too. */
  readonly tx: Transaction;
  readonly tables: ProjectionTables<Tables>;
}

/** A source of events: a class of aggregates or a decider. */
export type EventSource<Events extends EventMap = EventMap> =
  | (abstract new (
      id: string,
    ) => { readonly eventTypes?: Events })
  | { readonly category: string; readonly eventTypes?: Events };

/** A source of events, whatever their types. */
export type AnySource =
  | (abstract new (
      id: string,
    ) => { readonly eventTypes?: unknown })
  | { readonly category: string; readonly eventTypes?: unknown };

/** The events of one source or of several. */
export type EventsOfSources<Sources> = Merged<
  Sources extends readonly (infer One)[] ? EventsOfSource<One> : EventsOfSource<Sources>
>;
type EventsOfSource<Source> = Source extends abstract new (
  id: string,
) => infer Instance
  ? EventsOf<Instance>
  : EventsOf<Source>;
/** The union of maps as one map with all types of events. */
type Merged<Maps> = (Maps extends unknown ? (map: Maps) => void : never) extends (map: infer All) => void
  ? { readonly [Type in keyof All]: All[Type] } extends infer Map extends EventMap
    ? Map
    : never
  : never;

const isSource: Check<AnySource> = (value) =>
  typeof value === "function" || typeof (value as { category?: unknown } | null)?.category === "string"
    ? undefined
    : "a class of aggregates or a decider";

const isListOf =
  <T>(item: Check<T>): Check<readonly T[]> =>
  (value) =>
    Array.isArray(value) && value.length === 0 ? "a list that is not empty" : is.list(item)(value);

// PostgreSQL cuts names at 63 bytes, and a build has a suffix.
const isTable: Check<string> = (value) =>
  typeof value === "string" && /^[a-z_][a-z0-9_]{0,49}$/.test(value)
    ? undefined
    : "a name of at most 50 small letters, digits and underscores";

const projectionOptions = declare("projection()", {
  from: option.required(is.either(isSource, isListOf(isSource))),
  tables: option.required(isListOf(isTable)),
  /** To be raised when the tables or the handlers change: they are then built again beside the old ones. Default 1. */
  version: option(is.integer(1), 1),
  /** Events handled in one transaction. Default 100. */
  batch: option(is.integer(1, 10_000), 100),
  /**
   * `inline` runs the handlers in the transaction of the append: the tables are never behind, and a handler that fails
   * refuses the append. `async` runs them afterwards. Default `async`.
   */
  mode: option(is.oneOf("async", "inline"), "async"),
  /**
   * The number of parts that workers process at the same time, each with the events of some streams. Events of one stream
   * stay in order; those of different streams do not. Another number takes effect with the next build. Default 1.
   */
  shards: option(is.integer(1, 64), 1),
  create: option.required(is.function),
  on: option.required(is.object),
});

export interface ProjectionOptions<Events extends EventMap, Tables extends string>
  extends ProjectionParts<Events, Tables> {
  /** The aggregates whose events it reads. */
  readonly from: AnySource | readonly AnySource[];
}

/** The options of a projection beside its sources. */
export interface ProjectionParts<Events extends EventMap, Tables extends string>
  extends Pick<OptionsOf<typeof projectionOptions.fields>, "version" | "batch" | "mode" | "shards"> {
  /** The tables that it owns. */
  readonly tables: readonly Tables[];
  /** Creates the tables. Leave indexes unnamed: two builds exist at the same time. */
  create(tx: Transaction, tables: ProjectionTables<Tables>): unknown;
  /** The handlers by type of event. */
  readonly on: {
    readonly [Type in keyof Events & string]?: (
      event: Extract<RecordedEvent<Events>, { type: Type }>,
      context: ProjectionContext<Tables>,
    ) => unknown;
  };
}

/** Tables that are made of events. */
export interface Projection<Events extends EventMap = EventMap, Tables extends string = string> {
  readonly name: string;
  readonly categories: readonly string[];
  readonly tables: readonly Tables[];
  readonly version: number;
  readonly batch: number;
  readonly mode: "async" | "inline";
  readonly shards: number;
  /** The personal fields of its sources. */
  readonly personal: Readonly<Record<string, PersonalOptions>>;
  readonly create: ProjectionOptions<Events, Tables>["create"];
  readonly on: ProjectionOptions<Events, Tables>["on"];
}

/** A source as this file sees it. */
interface Source {
  readonly name: string;
  readonly category?: string;
  readonly personal?: Readonly<Record<string, PersonalOptions>>;
}

/** Declares a projection: tables that are kept up to date from events. */
export function projection<const Sources extends AnySource | readonly AnySource[], const Tables extends string>(
  name: string,
  options: { readonly from: Sources } & ProjectionParts<EventsOfSources<Sources>, Tables>,
): Projection<EventsOfSources<Sources>, Tables> {
  checkName("the name of a projection", name);
  const { from, ...settings } = projectionOptions.read([options]);
  const sources = (Array.isArray(from) ? from : [from]) as readonly Source[];
  const categories = sources.map((source) => categoryOfClass(source));
  const personal = Object.assign({}, ...sources.map((source) => source.personal)) as Projection["personal"];
  const shards = settings.mode === "inline" ? 1 : settings.shards;
  return { ...settings, name, categories, shards, personal } as unknown as Projection<EventsOfSources<Sources>, Tables>;
}
