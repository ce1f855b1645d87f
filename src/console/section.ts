import type { Guard } from "../guards/guard.js";
import type { Query } from "../http/query.js";
import type { Request } from "../http/request.js";
import type { LivePanel } from "./panels.js";

/** A page of the console, with the calls that it uses. */
export interface ConsoleSection {
  /** Name of the page, in the navigation and in the banner. */
  readonly title: string;
  readonly path: string;
  /** Guards that must all pass. Without guards the page is for the same machine, and development only. */
  readonly guards?: readonly Guard[];
  /** The call that enables the page, for the error about missing guards. */
  readonly enabledBy?: string;
  /** Fields above the panels. Their values are in the query of the page, and of `view`. */
  readonly filters?: readonly ConsoleFilter[];
  /** The panels. The query has the values of the filters, `before` for a further part, or `id` after a link to `#id`. */
  view?(query: Query): Promise<ConsoleView>;
  /** The actions of buttons, by name. A `ValueError` is shown to the operator. */
  readonly actions?: Readonly<Record<string, (id: string) => Promise<unknown>>>;
  /** Further GET calls below the path, by name. */
  readonly calls?: Readonly<Record<string, (request: Request) => unknown>>;
  /**
   * Makes it a page for developers: no middleware of the application runs. These are further hosts, served to all clients.
   * Add such a section in development only.
   */
  readonly hosts?: readonly string[];
  /** Markup of the page that begins the console. */
  readonly overview?: string;
}

export interface ConsoleFilter {
  readonly name: string;
  readonly label: string;
  /** Values to choose from. */
  readonly choices?: readonly string[];
  /** True for a box that is ticked for "1". */
  readonly check?: boolean;
}

export interface ConsoleView {
  readonly panels: readonly LivePanel[];
  /** The value of `before` for the rows that follow those of the first table. */
  readonly next?: string | null;
}
