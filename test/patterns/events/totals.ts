import { sql } from "../../../src/engines/db/sql/sql.js";
import {
  type Projection,
  type ProjectionParts,
  projection,
} from "../../../src/patterns/events/projections/projection.js";
import { Order, type OrderEvents } from "./order.js";

/** A projection of the sum of each order, into a table with the name of the projection. */
export function totals(
  name: string,
  options: Partial<ProjectionParts<OrderEvents, string>>,
  before: () => unknown = () => {},
): Projection<OrderEvents, string> {
  return projection(name, {
    from: Order,
    tables: [name],
    create: (tx, tables) =>
      tx.execute(sql`create table ${tables[name]} (stream text primary key, total int not null, events int not null)`),
    on: {
      ItemAdded: async (event, { tx, tables }) => {
        await before();
        await tx.execute(sql`insert into ${tables[name]} as o values (${event.stream}, ${event.data.price}, 1)
          on conflict (stream) do update set total = o.total + excluded.total, events = o.events + 1`);
      },
    },
    ...options,
  });
}
