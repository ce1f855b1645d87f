import type { App } from "stoa";
import { Shipment } from "./models.js";
import { orderConfirmed } from "./topics.js";

/**
 * With `inbox: true` the handler runs in a transaction that also stores the id of the message: a message that arrives twice
 * ships once.
 */
export function shipOrders(app: App): void {
  app.onMessage(orderConfirmed, { inbox: true }, async ({ value: { order, sku, quantity } }) => {
    await Shipment.objects.create({ orderId: order, sku, quantity });
  });
}
