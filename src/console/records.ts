import { HttpError } from "../errors/http-error.js";
import type { Host } from "../feature/host.js";
import type { Query } from "../http/query.js";
import { consoleSection } from "./add-section.js";
import type { AdminSettings } from "./options.js";
import type { LiveCell, LivePanel, LiveTone } from "./panels.js";
import type { ConsoleSection } from "./section.js";

/** Records of a table that operators look at and act on. */
export interface Records<Item, Status extends string, Found> {
  /** Name of the page; without its last letter, of one record. */
  readonly title: string;
  readonly enabledBy: string;
  /** The statuses, with their colours. */
  readonly tones: Readonly<Record<Status, LiveTone>>;
  readonly columns: readonly string[];
  row(item: Item): readonly LiveCell[];
  list(filter: RecordFilter<Status>): Promise<readonly Item[]>;
  /** Null if there is none with this id. */
  get(id: string): Promise<Found | null>;
  panels(found: Found): readonly LivePanel[];
  /** Panels above the list. */
  above?(): Promise<readonly LivePanel[]>;
  readonly actions: NonNullable<ConsoleSection["actions"]>;
}

export interface RecordFilter<Status> {
  readonly status: Status | undefined;
  readonly name: string | undefined;
  /** The id of the last record of the page before. */
  readonly before: string | undefined;
  readonly limit: number;
}

const limit = 50;

/** Adds a list of records to the console, a page of each, and the calls `list` and `detail`. */
export function recordPages<Item extends { readonly id: string }, Status extends string, Found>(
  host: Host,
  options: AdminSettings,
  { title, enabledBy, tones, columns, row, panels, actions, ...source }: Records<Item, Status, Found>,
): void {
  const list = async ({ query }: { readonly query: Query }) => {
    const [status, name, before] = ["status", "name", "before"].map((field) => query.get(field) || undefined);
    const items = await source.list({ status: status as Status | undefined, name, before, limit });
    return { items, next: items.length < limit ? null : items.at(-1)!.id };
  };
  const detail = async ({ query }: { readonly query: Query }): Promise<Found> => {
    const found = await source.get(query.get("id") ?? "");
    if (found === null) throw new HttpError(404, `There is no ${title.slice(0, -1).toLowerCase()} with this id.`);
    return found;
  };
  consoleSection(host, {
    title,
    enabledBy,
    ...options,
    filters: [
      { name: "status", label: "Status", choices: Object.keys(tones) },
      { name: "name", label: "Name" },
    ],
    async view(query) {
      if (query.has("id")) return { panels: panels(await detail({ query })) };
      const { items, next } = await list({ query });
      const above = query.has("before") ? [] : ((await source.above?.()) ?? []);
      return {
        panels: [...above, { title, tables: [{ columns, rows: items.map(row), empty: "Nothing here." }] }],
        next,
      };
    },
    calls: { list, detail },
    actions,
  });
}

/** The id of a record as a link to its page. */
export function recordLink(id: string): { readonly text: string; readonly href: string } {
  return { text: id, href: `#${encodeURIComponent(id)}` };
}
