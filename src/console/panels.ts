import { describeError } from "../errors/describe.js";
import { perHost } from "../feature/host.js";
import { within } from "../kit/time/within.js";

/** A part of a page of the console. All values are shown as text. */
export interface LivePanel {
  readonly title: string;
  /** A word beside the title, such as the status. */
  readonly badge?: { readonly text: string; readonly tone?: LiveTone };
  /** A text beside the title, such as an id. */
  readonly about?: string;
  readonly facts?: readonly LiveFact[];
  readonly tables?: readonly LiveTable[];
  /** A page with more about it. */
  readonly link?: LiveLink;
  /** Buttons, named after actions of the section. */
  readonly actions?: { readonly id: string; readonly names: readonly string[] };
  readonly error?: string | null;
  readonly flow?: LiveFlow;
  /** A list of things with texts to unfold. `empty` is shown in place of a list without any. */
  readonly entries?: readonly LiveEntry[];
  readonly empty?: string;
  /** Texts with their line breaks, such as JSON. */
  readonly texts?: readonly string[];
  /** True for a place beside the other panels. */
  readonly side?: boolean;
}

/** Green, blue, violet, amber, red. */
export type LiveTone = "good" | "info" | "note" | "warning" | "bad";

export interface LiveLink {
  readonly label: string;
  readonly href: string;
}

export interface LiveFact {
  readonly label: string;
  readonly value: LiveCell;
  /** Colour of the value. Default: none. */
  readonly tone?: LiveTone;
}

export interface LiveTable {
  readonly title?: string;
  readonly columns: readonly string[];
  /** On the live page only the first 50 rows are shown. */
  readonly rows: readonly (readonly LiveCell[])[];
  /** Sentence shown in place of a table without rows. */
  readonly empty: string;
  /** True for a table that is shown after a click on its title. */
  readonly folded?: boolean;
}

export type LiveValue = string | number | null;

/** A value, or: a text with a colour or a link, a time, a duration, a share from 0 to 1, buttons, several of them. */
export type LiveCell =
  | LiveValue
  | { readonly text: LiveValue; readonly tone?: LiveTone; readonly badge?: boolean; readonly href?: string }
  | { readonly at: Date | null }
  | { readonly ms: number }
  | { readonly share: number }
  | { readonly id: string; readonly actions: readonly string[] }
  | readonly LiveCell[];

export interface LiveEntry {
  readonly title: string;
  readonly links?: readonly LiveLink[];
  readonly note: string;
  /** Steps to the right. */
  readonly depth?: number;
  readonly texts?: readonly string[];
}

/** Steps, drawn one below the other with their times. */
export interface LiveFlow {
  readonly from: Date;
  readonly to: Date;
  readonly steps: readonly LiveStep[];
}

export interface LiveStep {
  readonly name: string;
  readonly kind: string;
  /** Steps with the same group run at the same time. */
  readonly group?: number;
  /** Empty before it begins. */
  readonly state: string;
  readonly tone?: LiveTone | undefined;
  readonly segments: readonly LiveSegment[];
  readonly notes: readonly string[];
  /** True for a step on the way back. */
  readonly back?: boolean;
  readonly undone?: Date | undefined;
}

export interface LiveSegment {
  readonly from: Date;
  /** Null while it lasts. */
  readonly to: Date | null;
  readonly tone: LiveTone;
  /** True for a wait. */
  readonly thin?: boolean;
  readonly attempt: number | null;
}

type ReadPanel = () => LivePanel | Promise<LivePanel>;

/** Milliseconds that a panel may take. */
const patience = 1000;
/** Milliseconds after which a panel that hangs is read again. */
const retryAfter = 30_000;
const maxRows = 50;
const maxText = 500;

/** The panels of one application. A panel is read only while a visitor has the page open. */
export class LivePanels {
  readonly #panels = new Map<string, ReadPanel>();
  /** Panels that are being read. */
  readonly #current = new Map<string, { readonly panel: Promise<LivePanel>; readonly since: number }>();
  #reading: Promise<LivePanel[]> | null = null;

  /** Adds a panel in `prepare`. The name replaces an earlier panel with the same name. */
  add(name: string, read: ReadPanel): void {
    this.#panels.set(name, read);
  }

  /** Reads all panels. Pages that ask while a reading is under way share it. */
  read(): Promise<LivePanel[]> {
    this.#reading ??= Promise.all([...this.#panels].map(([name, read]) => this.#panel(name, read))).finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** A panel that hangs is read again only after a time: each reading may hold a connection. */
  #panel(name: string, read: ReadPanel): Promise<LivePanel> {
    const now = performance.now();
    let current = this.#current.get(name);
    if (current === undefined || now - current.since > retryAfter) {
      const begun = { panel: (async () => read())(), since: now };
      this.#current.set(name, (current = begun));
      const forget = (): void => {
        if (this.#current.get(name) === begun) this.#current.delete(name);
      };
      begun.panel.then(forget, forget);
    }
    return inTime(name, current.panel);
  }
}

export const livePanels = perHost(() => new LivePanels());

async function inTime(name: string, panel: Promise<LivePanel>): Promise<LivePanel> {
  const late = (): never => {
    throw new Error("no response within a second");
  };
  try {
    return bounded(await within(panel, patience, late));
  } catch (error) {
    return { title: name, facts: [{ label: "Not available", value: cut(describeError(error).message), tone: "bad" }] };
  }
}

/** The part of a panel that is sent: a feature may have more rows than a page can show. */
function bounded(panel: LivePanel): LivePanel {
  const { facts = [], tables = [] } = panel;
  return {
    ...panel,
    facts: facts.map((fact) => ({ ...fact, value: cut(fact.value) })),
    tables: tables.map((table) => ({ ...table, rows: table.rows.slice(0, maxRows).map((row) => row.map(cut)) })),
  };
}

function cut<Cell extends LiveCell>(value: Cell): Cell | string {
  return typeof value === "string" && value.length > maxText ? `${value.slice(0, maxText)}…` : value;
}
