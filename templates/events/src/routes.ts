import { type App, HttpError, sql } from "stoa";
import { Shipment, StockItem } from "./models.js";
import type { PlaceOrderCommand } from "./place-order.js";

/** One route changes something, by a command. The others read. */
export function addRoutes(app: App, placeOrder: PlaceOrderCommand): void {
  const [options, handler] = app.commands.route(placeOrder);
  const responses = { 404: "There are no such goods", 409: "Another order has this id" };
  app.post("/orders", { ...options, summary: "Place an order", responses }, handler);

  app.get("/orders", { summary: "The newest orders" }, (request) =>
    request.db.fetch(sql`select * from order_list order by placed_at desc limit 100`),
  );

  app.get("/orders/{id}", { summary: "Read an order" }, async (request) => {
    const order = await request.db.fetchrow(sql`select * from order_list where id = ${request.params.id}`);
    if (order === null) throw new HttpError(404, "There is no such order.");
    return order;
  });

  app.get("/shipments", { summary: "The newest shipments" }, () => Shipment.objects.orderBy("-createdAt").limit(100));
  app.get("/stock", { summary: "The goods" }, () => StockItem.objects.orderBy("sku").limit(100));
}
