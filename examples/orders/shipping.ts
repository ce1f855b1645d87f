import type { App } from "stoa";
import type { Job } from "stoa/jobs";
import type { Mail } from "./mail.js";
import { orderConfirmed, orderRefused } from "./topics.js";

/**
 * The consumers. With `inbox: true` the handler runs in a transaction that also stores the id of the message. A message that
 * arrives twice ships once: the shipment, the job and the id are committed together.
 */
export function consumeOrders(app: App, mail: Job<Mail>): void {
  app.onMessage(orderConfirmed, { inbox: true }, async ({ value, tx }) => {
    await tx.sql`insert into shipments values (${value.order}, ${value.sku}, ${value.quantity})`;
    await mail.enqueue({ to: value.email, subject: `Order ${value.order} is on its way` });
  });
  app.onMessage(orderRefused, { inbox: true }, async ({ value }) => {
    await mail.enqueue({ to: value.email, subject: `Order ${value.order} could not be filled: ${value.reason}` });
  });
}
