import type { Database } from "stoa";

/** The tables of the other services. In a real shop each service has a database of its own. */
export async function createTables(db: Database): Promise<void> {
  await db.script(`
    create table if not exists stock (sku text primary key, price int not null, available int not null check (available >= 0));
    create table if not exists reservations (key text primary key, sku text not null, quantity int not null, released boolean not null default false);
    create table if not exists payments (key text primary key, customer text not null, amount int not null, refunded boolean not null default false);
    create table if not exists shipments (order_id text not null, sku text not null, quantity int not null);
    create table if not exists mails (recipient text not null, subject text not null, sent_at timestamptz not null default now());
    insert into stock values ('tea', 5, 100), ('cup', 12, 3), ('box', 2, 50) on conflict do nothing`);
}
