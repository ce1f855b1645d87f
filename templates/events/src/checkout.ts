import type { App } from "stoa";
import type { Repository } from "stoa/events";
import { type SagaDefinition, StepRefused, saga } from "stoa/saga";
import type { Order, OrderEvents } from "./order.js";
import type { Payments } from "./payments.js";
import type { Stock } from "./stock.js";
import { orderConfirmed } from "./topics.js";

export type CheckoutInput = OrderEvents["OrderPlaced"] & { readonly order: string };

export interface CheckoutParts {
  readonly app: App;
  readonly orders: Repository<Order>;
  readonly stock: Stock;
  readonly payments: Payments;
}

/**
 * The way of an order through stock and payment. If a step fails, the steps before it are undone, the newest first. If the
 * process dies, another worker continues. The id of the saga is the key of each effect: a step that runs again has it once.
 */
export function checkoutSaga({ app, orders, stock, payments }: CheckoutParts): SagaDefinition<CheckoutInput, unknown> {
  return saga<CheckoutInput>("checkout")
    .step("accept", {
      action: () => ({ accepted: true }),
      // The last thing to be undone is the order itself.
      compensate: async ({ input }) => {
        await orders.update(input.order, (order) => order.refuse("sold out, or the payment was declined"));
      },
    })
    .step("reserve", {
      action: async ({ input, sagaId }) => {
        if (!(await stock.reserve(input.sku, input.quantity, sagaId))) throw new StepRefused("not enough in stock");
      },
      compensate: ({ sagaId }) => stock.release(sagaId),
    })
    .step("pay", {
      action: async ({ input, sagaId }) => {
        const isPaid = await payments.charge(input.customer, input.total, sagaId);
        if (!isPaid) throw new StepRefused("the payment was declined");
        return { payment: sagaId };
      },
      compensate: ({ sagaId }) => payments.refund(sagaId),
    })
    .step("confirm", {
      // The event and the message are stored in one transaction. The outbox publishes the message after the commit.
      action: ({ input: { order, sku, quantity }, results }) =>
        app.database.transaction(async (tx) => {
          await orders.update(order, (one) => one.confirm(results.pay.payment));
          await tx.publish(orderConfirmed, { order, sku, quantity }, { id: `confirmed-${order}` });
        }),
    });
}
