import { boundedTransaction } from "../../durable/bounded-transaction.js";
import type { Queries, Transaction } from "../../engines/db/database.js";
import type { SagaRow, StoredStatus, Transition } from "./row.js";
import type { NewSaga, SagaStorage } from "./storage.js";

/** Signals of one name that a saga keeps until it takes them. */
const mostSignals = 1000;

export interface Delivery {
  readonly address: string;
  readonly value: string;
  /** One that is delivered again with the same id is not kept twice. */
  readonly sourceId?: string | undefined;
  /** The saga that a signal is for. */
  readonly sagaId?: string | undefined;
}

/** The state of a child as its parent sees it. */
export type ChildState = {
  readonly id: string;
  readonly name: string;
  readonly status: StoredStatus;
  readonly results: object;
  readonly error: string | null;
};

/**
 * The statements of waits. The begin of a wait and the arrival of its message take the same advisory lock before they look:
 * either the wait finds the message, or the message finds the wait. No arrival is lost between the two.
 *
 * Locks are always taken in this order: address, child, parent.
 */
export class WaitStorage {
  constructor(readonly storage: SagaStorage) {}

  /**
   * Takes the oldest message of an address that has arrived since the start of the saga. `changesOf` says what becomes of
   * the saga, with the message or without one, in the same transaction.
   */
  take(
    row: SagaRow,
    address: string,
    changesOf: (message: { readonly value: unknown } | null) => readonly Transition[],
  ): Promise<SagaRow> {
    const { sagas, inbox } = this.storage;
    return this.#locked(address, async (tx) => {
      const found = await tx.fetchrow<{ value: unknown }>(
        `update ${inbox} set taken_by = $1 where number = (
           select i.number from ${inbox} i, ${sagas} s
           where i.address = $2 and i.taken_by is null and s.id = $1 and s.token = $3 and i.at >= s.created_at
           order by i.number limit 1)
         returning value`,
        [row.id, address, row.token],
      );
      return this.storage.transition(row, changesOf(found), tx);
    });
  }

  /** Keeps a message and wakes the sagas that wait for it. False if it was not kept. */
  async deliver(delivery: Delivery, within: Queries): Promise<boolean> {
    const { sagas, inbox } = this.storage;
    const { address, value, sourceId = null, sagaId = null } = delivery;
    const run = async (tx: Queries): Promise<boolean> => {
      await this.#lock(tx, address);
      // A separate statement after the lock: it must see what the holder before has written.
      const kept = await tx.fetchval(
        `with i as (
           insert into ${inbox} (saga_id, address, source_id, value) select $1, $2, $3, $4
           where $1::text is null or (
             exists (select from ${sagas} where id = $1 and finished_at is null)
             and (select count(*) from (select from ${inbox} where address = $2 and taken_by is null limit ${mostSignals}) o) < ${mostSignals})
           on conflict (address, source_id) where source_id is not null do nothing returning number),
         w as (
           update ${sagas} set wake_at = clock_timestamp() where waiting_for = $2 and finished_at is null and exists (select from i))
         select number from i`,
        [sagaId, address, sourceId, value],
      );
      return kept !== null;
    };
    return within.kind === "transaction" ? run(within) : boundedTransaction(within, run);
  }

  /** Starts children, or finds them, and decides by their states what becomes of the parent. */
  begin(
    row: SagaRow,
    group: string,
    added: readonly NewSaga[],
    changesOf: (children: readonly ChildState[]) => readonly Transition[],
  ): Promise<SagaRow> {
    return this.#locked(childAddress(group), async (tx) => {
      if (added.length > 0) await this.storage.insertAll(added, tx);
      return this.storage.transition(row, changesOf(await this.children(row.id, group, tx)), tx);
    });
  }

  /** Asks for the compensation of children, and decides by their states what becomes of the parent. */
  undo(
    row: SagaRow,
    group: string,
    toUndo: (children: readonly ChildState[]) => readonly ChildState[],
    changesOf: (children: readonly ChildState[]) => readonly Transition[],
  ): Promise<SagaRow> {
    const { sagas, log } = this.storage;
    return this.#locked(childAddress(group), async (tx) => {
      const chosen = toUndo(await this.children(row.id, group, tx));
      // One that is completed is opened again; one that runs learns of it as of an abort. They are locked in the
      // order that all statements use.
      await tx.execute(
        `with l as (
           select id from ${sagas} where id = any ($1) and parent_id = $2
             and (status = 'completed' or status = 'running' and not cancel)
           order by id desc for update),
         c as (
           update ${sagas} s set
             status = case when status = 'completed' then 'compensating' else status end,
             error = coalesce(error, 'the saga that began it is compensated'),
             cancel = true, finished_at = null, deadline = null, attempt = 0, lost = 0,
             wake_at = case when owner is null then clock_timestamp() else wake_at end
           from l where s.id = l.id returning s.id, s.token)
         insert into ${log} (saga_id, event, token) select id, 'compensation asked for', token from c`,
        [chosen.map(({ id }) => id), row.id],
      );
      return this.storage.transition(row, changesOf(await this.children(row.id, group, tx)), tx);
    });
  }

  /** Ends a child, and wakes the saga that waits for it. */
  finishChild(row: SagaRow, changes: readonly Transition[]): Promise<SagaRow> {
    return this.#locked(childAddress(groupOf(row.id, row.parentId!)), async (tx) => {
      const next = await this.storage.transition(row, changes, tx);
      await this.wakeParent(tx, row.id);
      return next;
    });
  }

  /** Takes the lock that `wakeParent` needs. */
  async lockChild(tx: Queries, childId: string): Promise<void> {
    const text = `select parent_id from ${this.storage.sagas} where id = $1`;
    const parentId = await tx.fetchval<string>(text, [childId]);
    if (parentId !== null) await this.#lock(tx, childAddress(groupOf(childId, parentId)));
  }

  /** Wakes the saga that waits for a child, unless others that it began at the same time are still to end. */
  async wakeParent(tx: Queries, childId: string): Promise<void> {
    const { sagas } = this.storage;
    await tx.execute(
      `update ${sagas} p set wake_at = clock_timestamp() from ${sagas} c
       where c.id = $1 and p.id = c.parent_id and p.finished_at is null
         and p.waiting_for = 'child ' || p.id || '/' || split_part(substr(c.id, length(p.id) + 2), '/', 1)
         and (c.status <> 'completed' or not exists (
           select from ${sagas} o where o.parent_id = p.id and o.id <> c.id and o.finished_at is null
             and starts_with(o.id, substr(p.waiting_for, 7) || '/')))`,
      [childId],
    );
  }

  /** The children of a part, in the order in which their ids count. */
  children(parentId: string, group: string, within: Queries = this.storage.db): Promise<ChildState[]> {
    return within.fetch<ChildState>(
      `select id, name, status, results, error from ${this.storage.sagas}
       where parent_id = $1 and (id = $2 or starts_with(id, $2 || '/')) order by length(id), id`,
      [parentId, group],
    );
  }

  async #locked(address: string, run: (tx: Transaction) => Promise<SagaRow>): Promise<SagaRow> {
    return this.storage.db.transaction(async (tx) => {
      // A process that is paused here would hold its locks, and no worker could continue with the saga. The database ends its
      // session when its lease is over.
      await tx.execute(
        `select set_config('idle_in_transaction_session_timeout', $2, true),
           pg_advisory_xact_lock(hashtextextended($1, 0))`,
        [this.#name(address), String(this.storage.leaseMs)],
      );
      return run(tx);
    });
  }

  #lock(tx: Queries, address: string): Promise<unknown> {
    return tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", [this.#name(address)]);
  }

  #name(address: string): string {
    return `${this.storage.schema} ${address}`;
  }
}

/** The address of the children of one part of a saga. */
export function childAddress(group: string): string {
  return `child ${group}`;
}

/** The id of the parent and the name of its part: the beginning of a child's id. */
function groupOf(childId: string, parentId: string): string {
  const end = childId.indexOf("/", parentId.length + 1);
  return end < 0 ? childId : childId.slice(0, end);
}

export function signalAddress(sagaId: string, name: string): string {
  return `signal ${name} ${sagaId}`;
}

/** The address of a message or an event: for one wait of one saga, whatever its version. */
export function messageAddress(saga: string, wait: string, key: string): string {
  return `message ${saga}/${wait} ${key}`;
}
