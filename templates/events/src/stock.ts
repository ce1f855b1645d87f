import { type Database, sql } from "stoa";

/** The goods on the shelf. A call with a key that was used before has no second effect. */
export class Stock {
  constructor(readonly db: Database) {}

  async price(sku: string): Promise<number | null> {
    return this.db.fetchval<number>(sql`select price from stock where sku = ${sku}`);
  }

  /** Takes goods off the shelf; false if there are not enough. */
  reserve(sku: string, quantity: number, key: string): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      if ((await tx.fetchrow(sql`select from reservations where key = ${key}`)) !== null) return true;
      const taken = await tx.execute(
        sql`update stock set available = available - ${quantity} where sku = ${sku} and available >= ${quantity}`,
      );
      if (taken.rowCount === 0) return false;
      await tx.execute(sql`insert into reservations (key, sku, quantity) values (${key}, ${sku}, ${quantity})`);
      return true;
    });
  }

  /** Puts the goods back, once. */
  async release(key: string): Promise<void> {
    await this.db.execute(sql`
      with released as (update reservations set released = true where key = ${key} and not released returning sku, quantity)
      update stock s set available = s.available + r.quantity from released r where s.sku = r.sku`);
  }
}
