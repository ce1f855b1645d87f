import { Batch } from "../../durable/batch.js";
import { freeText } from "../../durable/blocked-workers.js";
import { readLeases, type ShownLease } from "../../durable/lease-panel.js";
import type { Leased, Renewals } from "../../durable/leased-worker.js";
import { mostCounted } from "../../durable/retention.js";
import type { StoredTrace } from "../../durable/stored-trace.js";
import { isTextUpTo } from "../../durable/texts.js";
import type { Database, Queries } from "../../engines/db/database.js";
import { isQueries } from "../../engines/db/is-queries.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { applied, isFinished, rowFields, type SagaRow, type Transition } from "./row.js";

/** Another worker drives the saga. */
export class DriverReplaced extends Error {
  override name = "DriverReplaced";
}

export const startOptions = options("start()", {
  /** The id of the execution. A second start with the same id and input is the same execution. Default: a random one. */
  id: option(isTextUpTo(200)),
  /** The transaction to take part in: the saga begins if it is committed. Default: the one around the caller. */
  tx: option(isQueries),
});

export interface StartOptions extends OptionsOf<typeof startOptions.fields> {}

/** A definition as the statements know it: an execution with other steps is not one of it. */
export interface Known {
  readonly name: string;
  readonly version: number;
  readonly steps: string;
}

/** The lists of names, versions and steps that `knownText` reads, from this parameter on. */
export function knownParams(known: readonly Known[]): readonly unknown[] {
  return [known.map(({ name }) => name), known.map(({ version }) => version), known.map(({ steps }) => steps)];
}

/** The condition of executions of a known definition. Those that were started before steps were kept have none. */
export function knownText(row: string, first: number): string {
  return `exists (select from unnest($${first}::text[], $${first + 1}::int[], $${first + 2}::text[]) as k (name, version, steps)
    where k.name = ${row}.name and k.version = ${row}.version and (${row}.steps is null or k.steps = ${row}.steps))`;
}

export interface NewSaga extends Known {
  readonly id: string;
  /** False for an id that was made up. */
  readonly givenId?: boolean;
  readonly input: string;
  readonly timeoutMs: number;
  readonly parentId?: string;
  readonly attributes?: string | null;
  readonly trace?: StoredTrace | null;
}

/** The hash by which the input of a deleted saga is known. */
export function hashText(input: string): string {
  return `sha256(convert_to((${input})::text, 'UTF8'))`;
}

/** The statements of sagas. Each is one round trip, and each change checks the token. */
export class SagaStorage {
  readonly sagas: string;
  readonly log: string;
  readonly inbox: string;
  /** The ids of executions that were deleted. */
  readonly ids: string;
  readonly #changeText: string;
  readonly #inserts = new Batch<NewSaga, boolean>((items) => this.#insert(items, this.db));
  readonly #changes = new Batch<ChangeRecord, number | null | undefined>((items) => this.#change(items, this.db));

  constructor(
    readonly db: Database,
    readonly schema: string,
    readonly owner: string,
    readonly leaseMs: number,
  ) {
    this.sagas = `"${schema}".sagas`;
    this.log = `"${schema}".saga_log`;
    this.inbox = `"${schema}".saga_inbox`;
    this.ids = `"${schema}".saga_ids`;
    this.#changeText = changeText(this.sagas, this.log);
  }

  /** Inserts a saga unless there is, or was, one with its id; returns that one. Starts at the same time share a statement. */
  async insert(
    given: NewSaga,
    within: Queries,
  ): Promise<{ readonly isNew: boolean; readonly name: string; readonly same: boolean }> {
    const inserted =
      within.kind === "database" ? await this.#inserts.add(given) : (await this.#insert([given], within))[0];
    if (inserted) return { isNew: true, name: given.name, same: true };
    const text = `select name, input = $2::jsonb as same from ${this.sagas} where id = $1
      union all select name, input_hash = ${hashText("$2::jsonb")} from ${this.ids} where id = $1 limit 1`;
    const found = await within.fetchrow<{ name: string; same: boolean }>(text, [given.id, given.input]);
    // It can only be absent here if it was deleted in between.
    return { isNew: false, name: found?.name ?? given.name, same: found?.same ?? true };
  }

  /** Inserts those that are not there. */
  async insertAll(given: readonly NewSaga[], within: Queries): Promise<void> {
    await this.#insert(given, within);
  }

  /**
   * True for each saga that did not exist. A transaction with an older snapshot does not see an id that was kept in between: its
   * own attempt to keep it then fails with a serialization error. The next sweep deletes that row.
   */
  async #insert(items: readonly NewSaga[], within: Queries): Promise<boolean[]> {
    const { rows } = await within.fetchArrays(
      `with k as (
         insert into ${this.ids} (id, name, input_hash, until) select id, name, '', '-infinity'
         from unnest($1::text[], $2::text[], $9::boolean[]) as g (id, name, given)
         where given and current_setting('transaction_isolation') <> 'read committed' on conflict (id) do nothing),
       s as (
         insert into ${this.sagas} (id, name, version, input, deadline, parent_id, trace, steps, given_id, attributes)
         select id, name, version, input, case when timeout > 0 then clock_timestamp() + timeout * interval '1 millisecond' end,
           parent_id, trace, steps, given, attributes
         from unnest($1::text[], $2::text[], $3::int[], $4::jsonb[], $5::float8[], $6::text[], $7::jsonb[], $8::text[], $9::boolean[],
           $10::jsonb[]) as g (id, name, version, input, timeout, parent_id, trace, steps, given, attributes)
         where not given or not exists (select from ${this.ids} k where k.id = g.id and k.until > statement_timestamp())
         on conflict (id) do nothing returning id)
       insert into ${this.log} (saga_id, event, token) select id, 'started', 0 from s returning saga_id`,
      [
        items.map(({ id }) => id),
        items.map(({ name }) => name),
        items.map(({ version }) => version),
        items.map(({ input }) => input),
        items.map(({ timeoutMs }) => timeoutMs),
        items.map(({ parentId }) => parentId ?? null),
        items.map(({ trace }) => (trace == null ? null : JSON.stringify(trace))),
        items.map(({ steps }) => steps),
        items.map(({ givenId = true }) => givenId),
        items.map(({ attributes }) => attributes ?? null),
      ],
    );
    const inserted = new Set(rows.map(([id]) => id));
    // Of two with one id the first is new.
    return items.map(({ id }) => inserted.delete(id));
  }

  /** The time of the statement, unlike `clock_timestamp()`, is a bound for the index: sagas that sleep are not read. */
  claim(known: readonly Known[], limit: number, inProgress: readonly string[] = [], low = 0): Promise<SagaRow[]> {
    return this.db.fetch<SagaRow>(
      `update ${this.sagas} s
       set owner = $4, token = token + 1, lease_until = clock_timestamp() + $5 * interval '1 millisecond'
       where id in (
         select id from ${this.sagas} s
         where finished_at is null and status <> 'parked' and greatest(wake_at, lease_until) <= statement_timestamp()
           and greatest(wake_at, lease_until) >= to_timestamp($8)
           and ${freeText(this.schema, "s", "statement_timestamp()")} and ${knownText("s", 1)} and s.id <> all ($7::text[])
         order by greatest(wake_at, lease_until) limit $6 for update skip locked)
       returning ${rowFields}`,
      [...knownParams(known), this.owner, this.leaseMs, limit, inProgress, low],
    );
  }

  /** A time before all sagas that are free, for the lower bound of claims: in seconds, and a second ago at the latest. */
  async lowest(known: readonly Known[]): Promise<number> {
    const found = await this.db.fetchval<number>(
      `with t as materialized (select statement_timestamp() - interval '1 second' as low)
       select extract(epoch from coalesce((select greatest(wake_at, lease_until) from ${this.sagas} s
         where finished_at is null and status <> 'parked' and greatest(wake_at, lease_until) < t.low
           and ${freeText(this.schema, "s", "statement_timestamp()")} and ${knownText("s", 1)}
         order by greatest(wake_at, lease_until) limit 1) - interval '1 millisecond', t.low))::float8 from t`,
      knownParams(known),
    );
    return found!;
  }

  /** A saga that was given back has no owner, and its lease is not extended again. */
  async renew(items: readonly Leased[]): Promise<Renewals> {
    const rows = await this.db.fetch<{ id: string; cancel: boolean }>(
      // Children are locked before their parents, as everywhere: their ids begin with the id of the parent.
      `with l as (
         select s.id from ${this.sagas} s, unnest($1::text[], $2::bigint[]) as held (id, token)
         where s.id = held.id and s.token = held.token and s.owner is not null order by s.id desc for update of s)
       update ${this.sagas} s set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       from l where s.id = l.id returning s.id, s.cancel`,
      [items.map(({ id }) => id), items.map(({ token }) => token), this.leaseMs],
      { timeout: this.leaseMs / 1000 },
    );
    return new Map(rows.map(({ id, cancel }) => [id, cancel ? "cancel" : "held"]));
  }

  /** The leases of those that run, for operators. Each claim writes to the log before its first effect. */
  leases(): Promise<ShownLease[]> {
    const running = `select * from ${this.sagas}
      where finished_at is null and status in ('running', 'compensating') and waiting_for is null limit ${mostCounted}`;
    return readLeases(
      this.db,
      this.schema,
      `select s.name || ' ' || s.id as name, s.id, s.owner, s.lease_until,
         (select min(at) from ${this.log} g where g.saga_id = s.id and g.token = s.token) as since
       from (${running}) s`,
    );
  }

  /** Milliseconds until the next saga that this program knows is due, at `low` or later; null if there is none. */
  nextDue(known: readonly Known[], low = 0): Promise<number | null> {
    return this.db.fetchval<number>(
      `select (extract(epoch from greatest(wake_at, lease_until) - clock_timestamp()) * 1000)::float8
       from ${this.sagas} s where finished_at is null and status <> 'parked' and greatest(wake_at, lease_until) < 'infinity'
         and greatest(wake_at, lease_until) >= to_timestamp($4) and ${knownText("s", 1)}
       order by greatest(wake_at, lease_until) limit 1`,
      [...knownParams(known), low],
    );
  }

  /**
   * Makes changes and writes them to the log, in one statement; throws if the token is no longer the saga's. Returns the
   * state after them. Changes of several sagas at the same time share a statement, except in a transaction.
   */
  async transition(row: SagaRow, changes: readonly Transition[], within?: Queries): Promise<SagaRow> {
    const next = applied(row, changes);
    const item = recordOf(row, next, changes);
    const left = within === undefined ? await this.#changes.add(item) : (await this.#change([item], within))[0];
    if (left === undefined) throw new DriverReplaced();
    return { ...next, left };
  }

  /**
   * Keeps the result of a step whose driver was replaced while it ran: the next driver continues with it, and does not begin the
   * step again. Nothing else is changed, so a driver that works on it is not disturbed.
   */
  async keepResult(id: string, step: number, name: string, result: unknown): Promise<void> {
    await this.db.execute(
      `with s as (
         update ${this.sagas} set results = results || jsonb_build_object($3::text, $4::jsonb)
         where id = $1 and status = 'running' and step = $2 and not results ? $3 returning id, token)
       insert into ${this.log} (saga_id, event, step, token) select id, 'action done late', $3, token from s`,
      [id, step, name, JSON.stringify(result)],
    );
  }

  /** Returns the milliseconds until the deadline of each saga; undefined for those whose token is another one now. */
  async #change(items: readonly ChangeRecord[], within: Queries): Promise<(number | null | undefined)[]> {
    const { rows } = await within.fetchArrays(this.#changeText, [JSON.stringify(items), items.map(({ id }) => id)]);
    const found = new Map(
      (rows as [string, number, number | null][]).map(([id, token, left]) => [`${token} ${id}`, left]),
    );
    return items.map(({ id, token }) => found.get(`${token} ${id}`));
  }
}

/** The changes of one saga, as the statement reads them from JSON. */
interface ChangeRecord {
  readonly id: string;
  readonly token: number;
  readonly [field: string]: unknown;
}

function recordOf(row: SagaRow, next: SagaRow, changes: readonly Transition[]): ChangeRecord {
  const { wakeAfter, wait } = changes[changes.length - 1]!;
  const finished = isFinished(next.status);
  let results: Transition["results"];
  for (const change of changes) {
    if (change.results !== undefined)
      results = results === undefined ? change.results : { ...results, ...change.results };
  }
  const { until } = wait ?? {};
  return {
    id: row.id,
    token: row.token,
    status: next.status,
    step: next.step,
    attempt: next.attempt,
    lost: next.lost,
    branches: next.branches,
    inflight: next.inflight,
    unknown: next.unknown,
    results: results ?? {},
    error: next.error,
    finished,
    released: finished || wait !== undefined || wakeAfter !== undefined,
    wake_after: wakeAfter,
    waited: row.waitingFor !== null && next.waitingFor === null,
    wait_for: finished ? undefined : wait?.for,
    wait_after: typeof until === "number" ? until : undefined,
    // In seconds: the text of a date after the year 9999 is not one that PostgreSQL reads. A date that is over stays one.
    wait_date: until instanceof Date ? Math.max(until.getTime(), 0) / 1000 : undefined,
    log: changes.map(({ event, logStep, logAttempt, logError }) => ({
      event,
      step: logStep,
      attempt: logAttempt,
      error: logError,
    })),
  };
}

/**
 * Several sagas in one statement, as JSON: one parameter costs the client less than fourteen. Rows are locked in the order
 * that all statements use; their ids are given apart, so that the index is used, however few rows there are. Two claims of one
 * saga can be in one statement, in a process that was paused: only the change with the token of the row is made. A wait that
 * continues keeps its time; a new one after another has its own. The time in which a saga waited is added to its deadline. An
 * end that was requested in between must not wait for a message; one that is compensated waits for its children.
 */
function changeText(sagas: string, log: string): string {
  // A wait that began in the future is from before the clock was set back: its time, if it is no date, starts over.
  const until = `coalesce(
    case when not c.waited and (c.wait_after is null or s.waiting_since <= clock_timestamp()) then s.wait_until end,
    to_timestamp(c.wait_date), clock_timestamp() + c.wait_after * interval '1 millisecond', 'infinity')`;
  return `with c as materialized (
       select * from jsonb_to_recordset($1) as c (id text, token bigint, status text, step int, attempt int, lost int, branches jsonb,
         inflight text[], unknown text[], results jsonb, error text, finished boolean, released boolean, wake_after float8,
         waited boolean, wait_for text, wait_after float8, wait_date float8, log jsonb)),
     held as materialized (
       select s.id, s.token from ${sagas} s, c where s.id = any ($2::text[]) and s.id = c.id and s.token = c.token
       order by s.id desc for update of s),
     changed as (
       update ${sagas} s set status = c.status, step = c.step, attempt = c.attempt, lost = c.lost, branches = c.branches,
         inflight = c.inflight, unknown = c.unknown, results = s.results || c.results, error = c.error,
         updated_at = clock_timestamp(),
         finished_at = case when c.finished then clock_timestamp() end,
         owner = case when not c.released then s.owner end,
         lease_until = case when c.released then '-infinity' else s.lease_until end,
         waiting_for = case when c.wait_for is not null then c.wait_for when not c.waited then s.waiting_for end,
         waiting_since = case
           when c.wait_for is null then case when not c.waited then s.waiting_since end
           when c.waited then clock_timestamp() else least(coalesce(s.waiting_since, clock_timestamp()), clock_timestamp()) end,
         wait_until = case when c.wait_for is not null then ${until} when not c.waited then s.wait_until end,
         wake_at = case
           when c.wait_for is not null then case when s.cancel and c.status = 'running' then clock_timestamp() else ${until} end
           when c.wake_after is not null then clock_timestamp() + c.wake_after * interval '1 millisecond'
           else s.wake_at end,
         deadline = case when c.waited then s.deadline + (clock_timestamp() - coalesce(s.waiting_since, clock_timestamp()))
           else s.deadline end
       from c, held where s.id = any ($2::text[]) and s.id = held.id and c.id = held.id and c.token = held.token
       returning s.id, s.deadline, c.token, c.log),
     logged as (
       insert into ${log} (saga_id, event, step, attempt, token, error)
       select changed.id, l.event, l.step, l.attempt, changed.token, l.error
       from changed, jsonb_to_recordset(changed.log) as l (event text, step text, attempt int, error text))
     select id, token, (extract(epoch from deadline - clock_timestamp()) * 1000)::float8 from changed`;
}
