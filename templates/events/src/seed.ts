import { type Database, sql } from "stoa";

/** Goods to begin with, for `stoa db seed`. To run it again changes nothing. */
export default async function seed(db: Database): Promise<void> {
  await db.execute(sql`
    insert into stock (sku, price, available) values ('tea', 500, 100), ('cup', 1200, 3) on conflict do nothing`);
}
