import type { App } from "stoa";
import type { Repository } from "stoa/events";
import { type SagaDefinition, StepRefused, saga } from "stoa/saga";
import type { Order } from "./order.js";
import type { Payments } from "./payments.js";
import type { Stock } from "./stock.js";
import { orderConfirmed, orderRefused } from "./topics.js";

export interface CheckoutInput {
  readonly order: string;
  readonly customer: string;
  readonly email: string;
  readonly sku: string;
  readonly quantity: number;
  readonly total: number;
  /** True for an order that is wrapped as a gift. */
  readonly gift?: boolean | undefined;
}

export interface CheckoutServices {
  readonly app: App;
  readonly orders: Repository<Order>;
  readonly stock: Stock;
  readonly payments: Payments;
}

/**
 * The way of an order over stock and bank. If a step fails, the steps before it are undone, the newest first. The saga
 * survives the death of its process: any worker goes on where it was.
 */
export function checkoutSaga({
  app,
  orders,
  stock,
  payments,
}: CheckoutServices): SagaDefinition<CheckoutInput, unknown> {
  const wrap = saga<{ order: string }>("gift-wrap").step("box", {
    action: async ({ sagaId }) => {
      if (!(await stock.reserve("box", 1, sagaId))) throw new StepRefused("no gift box is left");
    },
    compensate: ({ sagaId }) => stock.release(sagaId),
  });
  return (
    saga<CheckoutInput>("checkout")
      .step("accept", {
        action: () => ({ accepted: true }),
        // The last thing to be undone is the order itself. The event and the message are stored together.
        compensate: ({ input }) =>
          app.database.transaction(async (tx) => {
            const reason = "the goods are sold out, or the payment was declined";
            await orders.update(input.order, (order) => order.refuse(reason));
            await tx.publish(orderRefused, { order: input.order, email: input.email, reason });
          }),
      })
      .step("reserve", {
        // The key is the same in every attempt. After a crash the step runs again, and the goods are reserved once.
        action: async ({ input, sagaId }) => {
          if (!(await stock.reserve(input.sku, input.quantity, sagaId))) throw new StepRefused("not enough in stock");
        },
        compensate: ({ sagaId }) => stock.release(sagaId),
      })
      // A branch: the saga that has an input runs. If the payment is declined, it is undone with the rest.
      .choose("extras", { gift: wrap }, ({ input }) => (input.gift ? { gift: { order: input.order } } : {}))
      .step("pay", {
        action: async ({ input, sagaId }) => {
          if (!(await payments.charge(input.customer, input.total, sagaId)))
            throw new StepRefused("the payment was declined");
          return { payment: sagaId };
        },
        compensate: ({ sagaId }) => payments.refund(sagaId),
      })
      .step("confirm", {
        action: ({ input, results }) =>
          app.database.transaction(async (tx) => {
            await orders.update(input.order, (order) => order.confirm(results.pay.payment));
            const { order, email, sku, quantity } = input;
            // The id of the message is that of the order: if this step runs twice, consumers with an inbox notice it.
            await tx.publish(orderConfirmed, { order, email, sku, quantity }, { id: `confirmed-${order}` });
          }),
      })
  );
}
