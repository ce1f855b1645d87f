import { sql } from "stoa";
import { projection } from "stoa/events";
import { Order } from "./order.js";

/** The table that clients read. It is filled from the events, and can be built again from them at any time. */
export const orderList = projection("order-list", {
  from: Order,
  tables: ["order_list"],
  create: (tx, { order_list }) =>
    tx.execute(sql`create table ${order_list} (
      id text primary key, customer text not null, sku text not null, quantity int not null, total int not null,
      status text not null, reason text, placed_at timestamptz not null)`),
  on: {
    OrderPlaced: ({ stream, data, recordedAt }, { tx, tables }) =>
      tx.execute(sql`insert into ${tables.order_list}
        values (${idOf(stream)}, ${data.customer}, ${data.sku}, ${data.quantity}, ${data.total}, 'placed', null, ${recordedAt})`),
    OrderConfirmed: ({ stream }, { tx, tables }) =>
      tx.execute(sql`update ${tables.order_list} set status = 'confirmed' where id = ${idOf(stream)}`),
    OrderRefused: ({ stream, data }, { tx, tables }) =>
      tx.execute(
        sql`update ${tables.order_list} set status = 'refused', reason = ${data.reason} where id = ${idOf(stream)}`,
      ),
  },
});

/** The stream of an order is the name of the class, with a small first letter, and the id: `order-o1`. */
function idOf(stream: string): string {
  return stream.slice(stream.indexOf("-") + 1);
}
