import { type App, HttpError, sql } from "stoa";
import { listOptions } from "stoa/orm";
import { z } from "zod";
import { Shipment, StockItem } from "./models.js";
import type { PlaceOrderCommand } from "./place-order.js";

/** A row of the projection `order-list`. */
const OrderRow = z.object({
  id: z.string(),
  customer: z.string(),
  sku: z.string(),
  quantity: z.int(),
  total: z.int(),
  status: z.enum(["placed", "confirmed", "refused"]),
  reason: z.string().nullable(),
  placed_at: z.date(),
});
type OrderRow = z.infer<typeof OrderRow>;

/** The lists are short: they have no pages. */
const all = { pages: false } as const;

/** One route changes something, by a command. The others read. */
export function addRoutes(app: App, placeOrder: PlaceOrderCommand): void {
  const [options, handler] = app.commands.route(placeOrder);
  const responses = { ...options.responses, 404: "There are no such goods", 409: "Another order has this id" };
  app.post("/orders", { ...options, summary: "Place an order", responses }, handler);

  app.get("/orders", { summary: "The newest orders", response: z.array(OrderRow) }, (request) =>
    request.db.fetch<OrderRow>(sql`select * from order_list order by placed_at desc limit 100`),
  );

  app.get("/orders/{id}", { summary: "Read an order", response: OrderRow }, async (request) => {
    const order = await request.db.fetchrow<OrderRow>(sql`select * from order_list where id = ${request.params.id}`);
    if (order === null) throw new HttpError(404, "There is no such order.");
    return order;
  });

  app.get("/shipments", { summary: "The newest shipments", ...listOptions(Shipment, all) }, () =>
    Shipment.objects.orderBy("-createdAt").limit(100),
  );
  app.get("/stock", { summary: "The goods", ...listOptions(StockItem, all) }, () =>
    StockItem.objects.orderBy("sku").limit(100),
  );
}
