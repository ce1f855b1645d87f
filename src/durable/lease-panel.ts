import { type LiveCell, type LivePanel, type LiveTone, livePanels } from "../console/panels.js";
import type { Database } from "../engines/db/database.js";
import { type Host, perHost } from "../feature/host.js";
import { machineId } from "../server/process/machine.js";
import { holderOf } from "./pulse.js";

/** A lease as operators see it. */
export interface ShownLease {
  readonly name: string;
  /** The id of the record on its page; null without one. */
  readonly id: string | null;
  readonly owner: string;
  /** The time of the claim; null if it is not known. */
  readonly since: Date | null;
  readonly until: Date;
  /** Blocked: the event loop of the owner does not turn, and no other process takes the lease. Over: the owner has not renewed it. */
  readonly state: "held" | "blocked" | "over";
}

/** The leases of one kind: of jobs, of sagas. */
interface LeaseList {
  read(): Promise<readonly ShownLease[]>;
  /** The path of the page that shows a record by its id. */
  readonly path?: string | undefined;
}

/** The most leases of a kind that are shown. */
const most = 50;
const tones: Readonly<Record<ShownLease["state"], LiveTone>> = { held: "good", blocked: "warning", over: "bad" };
const listsOf = perHost(() => new Map<string, LeaseList>());

/** Adds leases to the panel of all leases, in `prepare`. The title is the one of their table. */
export function showLeases(host: Host, title: string, list: LeaseList): void {
  const lists = listsOf(host);
  if (lists.size === 0) livePanels(host).add("leases", () => leasePanel(lists));
  lists.set(title, list);
}

/**
 * Reads leases that were not given back; those that are over come first. `rows` is a statement with the columns name, id, owner,
 * lease_until and since. It must find them by an index: the panel is read again and again.
 */
export function readLeases(db: Database, schema: string, rows: string): Promise<ShownLease[]> {
  return db.fetch<ShownLease>(
    `select l.name, l.id, l.owner, l.since, l.lease_until as until, case when l.lease_until > clock_timestamp() then 'held'
       when exists (select from "${schema}".silent_workers w where w.owner = l.owner and w.until > clock_timestamp())
       then 'blocked' else 'over' end as state
     from (${rows}) l where l.owner is not null and l.lease_until > '-infinity'
     order by l.lease_until > clock_timestamp(), l.name, l.id limit ${most + 1}`,
  );
}

async function leasePanel(lists: ReadonlyMap<string, LeaseList>): Promise<LivePanel> {
  const all = await Promise.all([...lists].map(async ([title, list]) => ({ title, list, leases: await list.read() })));
  const states = all.flatMap(({ leases }) => leases.map(({ state }) => state));
  const count = (state: ShownLease["state"]): number => states.filter((one) => one === state).length;
  const [held, blocked, over] = [count("held"), count("blocked"), count("over")];
  return {
    title: "Leases",
    facts: [
      { label: "Held", value: held },
      ...(blocked > 0 ? [{ label: "Blocked", value: blocked, tone: tones.blocked }] : []),
      ...(over > 0 ? [{ label: "Over", value: over, tone: tones.over }] : []),
    ],
    tables: all.map(({ title, list, leases }) => ({
      title: leases.length > most ? `${title}, the first ${most}` : title,
      columns: ["Name", "State", "Machine", "Process", "Since", "Until"],
      rows: leases.slice(0, most).map((lease) => rowOf(lease, list.path)),
      empty: "No process has one.",
    })),
  };
}

function rowOf({ name, id, owner, since, until, state }: ShownLease, path: string | undefined): LiveCell[] {
  const holder = holderOf(owner);
  return [
    id === null || path === undefined ? name : { text: name, href: `${path}#${encodeURIComponent(id)}` },
    { text: state, tone: tones[state], badge: true },
    holder.machine === machineId() ? { text: holder.machine, tone: "info" } : holder.machine,
    holder.process,
    { at: since },
    { at: until },
  ];
}
