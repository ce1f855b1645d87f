import { describeError } from "../../errors/describe.js";
import { perHost } from "../../feature/host.js";

/** A part of the live page that shows the state of one feature. All values are shown as text. */
export interface LivePanel {
  readonly title: string;
  readonly facts?: readonly LiveFact[];
  readonly tables?: readonly LiveTable[];
  /** A page with more about it. */
  readonly link?: { readonly label: string; readonly href: string };
}

export interface LiveFact {
  readonly label: string;
  readonly value: LiveValue;
  /** Colour of the value. Default: none. */
  readonly tone?: "good" | "warning" | "bad";
}

export interface LiveTable {
  readonly title: string;
  readonly columns: readonly string[];
  /** Only the first 50 rows are shown. */
  readonly rows: readonly (readonly LiveValue[])[];
  /** Sentence shown in place of a table without rows. */
  readonly empty: string;
}

export type LiveValue = string | number | null;

type ReadPanel = () => LivePanel | Promise<LivePanel>;

/** Milliseconds that a panel may take. */
const patience = 1000;
/** Milliseconds after which a panel that hangs is read again. */
const retryAfter = 30_000;
const maxRows = 50;
const maxText = 500;

/** The panels of one application. A panel is read only while somebody has the page open. */
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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no response within a second")), patience);
  });
  try {
    return bounded(await Promise.race([panel, late]));
  } catch (error) {
    return { title: name, facts: [{ label: "Not available", value: cut(describeError(error).message), tone: "bad" }] };
  } finally {
    clearTimeout(timer);
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

function cut(value: LiveValue): LiveValue {
  return typeof value === "string" && value.length > maxText ? `${value.slice(0, maxText)}…` : value;
}
