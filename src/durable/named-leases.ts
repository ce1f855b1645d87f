import type { Database } from "../engines/db/database.js";
import { freeText } from "./blocked-workers.js";
import { readLeases, type ShownLease } from "./lease-panel.js";

/** Milliseconds by which a lease may end later than one that is written now. */
const leastRoom = 300_000;
/** Tokens below this one are not a time: the program that made them counted from 1. */
const leastTime = 1e15;

/**
 * A table of leases: one row for each name, with its owner, its token and the end of its lease. The token is the time of the claim in
 * microseconds, or one more than the token before if the clock was set back.
 */
export class NamedLeases<Claim extends { readonly token: number }> {
  readonly #db: Database;
  readonly #schema: string;
  readonly #table: string;
  readonly #name: string;
  readonly #field: string | null;

  /** `name` is the column of the name, `field` one that the claim returns, with a value for a new row. */
  constructor(db: Database, schema: string, table: string, name: string, field: string | null = null) {
    this.#db = db;
    this.#schema = schema;
    this.#table = `"${schema}".${table}`;
    this.#name = name;
    this.#field = field;
  }

  /**
   * Null while another process has the lease. One that ends far later than any that is written now is from a time before the clock
   * of the database was set back; processes with other leases are given room.
   */
  claim(name: string, owner: string, leaseMs: number, start?: unknown): Promise<Claim | null> {
    const time = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";
    const [column, value] = this.#field === null ? ["", ""] : [`, ${this.#field}`, ", $4"];
    return this.#db.fetchrow<Claim & object>(
      `insert into ${this.#table} as l (${this.#name}, owner, token, lease_until${column})
       values ($1, $2, ${time}, clock_timestamp() + $3 * interval '1 millisecond'${value})
       on conflict (${this.#name}) do update set owner = excluded.owner, token = greatest(l.token + 1, excluded.token),
         lease_until = excluded.lease_until
       where ${freeText(this.#schema, "l", "clock_timestamp()")}
         or l.lease_until > clock_timestamp() + greatest($3 * 10, ${leastRoom}) * interval '1 millisecond' returning token${column}`,
      [name, owner, leaseMs, ...(this.#field === null ? [] : [start])],
      { timeout: leaseMs / 1000 },
    );
  }

  async renew(name: string, token: number, leaseMs: number): Promise<boolean> {
    const { rowCount } = await this.#db.execute(
      `update ${this.#table} set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       where ${this.#name} = $1 and token = $2`,
      [name, token, leaseMs],
      { timeout: leaseMs / 1000 },
    );
    return rowCount === 1;
  }

  async release(name: string, token: number): Promise<void> {
    const text = `update ${this.#table} set lease_until = '-infinity' where ${this.#name} = $1 and token = $2`;
    await this.#db.execute(text, [name, token]);
  }

  /** The leases of the names that a condition selects, for operators. */
  shown(condition = "true"): Promise<ShownLease[]> {
    const since = `case when token >= ${leastTime} then to_timestamp(token / 1e6) end as since`;
    const rows = `select ${this.#name} as name, null as id, owner, lease_until, ${since} from ${this.#table} where ${condition}`;
    return readLeases(this.#db, this.#schema, rows);
  }
}
