import type { Transaction } from "../../../engines/db/database.js";
import type { SqlFragment } from "../../../engines/db/sql/sql.js";
import { show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
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

export interface ProjectionOptions<Events extends EventMap, Tables extends string>
  extends ProjectionParts<Events, Tables> {
  /** The aggregates whose events it reads. */
  readonly from: AnySource | readonly AnySource[];
}

/** The options of a projection beside its sources. */
export interface ProjectionParts<Events extends EventMap, Tables extends string> {
  /** The tables that it owns. */
  readonly tables: readonly Tables[];
  /** To be raised when the tables or the handlers change: they are then built again beside the old ones. Default 1. */
  readonly version?: number | undefined;
  /** Events handled in one transaction. Default 100. */
  readonly batch?: number | undefined;
  /**
   * `inline` runs the handlers in the transaction of the append: the tables are never behind, and a handler that fails
   * refuses the append. `async` runs them afterwards. Default `async`.
   */
  readonly mode?: "async" | "inline" | undefined;
  /**
   * The number of parts that workers process at the same time, each with the events of some streams. Events of one stream
   * stay in order; those of different streams do not. Another number takes effect with the next build. Default 1.
   */
  readonly shards?: number | undefined;
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
  const { from, tables, version = 1, batch = 100, mode = "async", shards = 1, create, on } = options;
  const sources = (Array.isArray(from) ? from : [from]) as unknown as readonly Source[];
  if (sources.length === 0) throw new ValueError(`projection ${show(name)} needs a source in 'from'`);
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new ValueError(`option 'version' in projection() must be an integer of at least 1, not ${show(version)}`);
  }
  if (!Number.isSafeInteger(batch) || batch < 1 || batch > 10_000) {
    throw new ValueError(`option 'batch' in projection() must be an integer from 1 to 10000, not ${show(batch)}`);
  }
  if (mode !== "async" && mode !== "inline") {
    throw new ValueError(`option 'mode' in projection() must be 'async' or 'inline', not ${show(mode)}`);
  }
  if (!Number.isSafeInteger(shards) || shards < 1 || shards > 64) {
    throw new ValueError(`option 'shards' in projection() must be an integer from 1 to 64, not ${show(shards)}`);
  }
  if (!Array.isArray(tables) || tables.length === 0)
    throw new ValueError("option 'tables' in projection() must be a list");
  for (const table of tables as readonly string[]) {
    // PostgreSQL cuts names at 63 bytes, and a build has a suffix.
    if (!/^[a-z_][a-z0-9_]{0,49}$/.test(table)) {
      throw new ValueError(
        `a table of a projection has a name of small letters, digits and underscores, not ${show(table)}`,
      );
    }
  }
  const categories = sources.map((source) => categoryOfClass(source));
  const personal = Object.assign({}, ...sources.map((source) => source.personal)) as Projection["personal"];
  return {
    name,
    categories,
    tables,
    version,
    batch,
    mode,
    shards: mode === "inline" ? 1 : shards,
    personal,
    create,
    on,
  };
}
