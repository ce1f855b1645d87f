import { type App, HttpError } from "stoa";
import { type Command, command } from "stoa/cqrs";
import type { Repository } from "stoa/events";
import type { SagaHandle } from "stoa/saga";
import { z } from "zod";
import type { CheckoutInput } from "./checkout.js";
import type { Order } from "./order.js";
import { orderList } from "./order-list.js";
import type { Stock } from "./stock.js";

/** Text that PostgreSQL can store: without U+0000 and half surrogate pairs. */
const text = () =>
  z
    .string()
    .min(1)
    .max(100)
    .refine((value) => !/[\0\p{Surrogate}]/u.test(value), "contains a character that cannot be stored");

const PlaceOrder = z.object({
  id: z.string().regex(/^[\w-]{1,50}$/),
  customer: text(),
  sku: text(),
  quantity: z.int().min(1).max(100),
});

const Placed = z.object({ id: z.string() });

export type PlaceOrderCommand = Command<z.input<typeof PlaceOrder>, { id: string }, typeof PlaceOrder>;

export interface PlaceOrderParts {
  readonly app: App;
  readonly orders: Repository<Order>;
  readonly checkouts: SagaHandle<CheckoutInput, unknown>;
  readonly stock: Stock;
}

/**
 * Stores the first event of an order and starts its saga, in one transaction. The same command again changes nothing; another
 * one with the same id is refused (409).
 */
export function placeOrder({ app, orders, checkouts, stock }: PlaceOrderParts): PlaceOrderCommand {
  return command("place-order", {
    schema: PlaceOrder,
    result: Placed,
    // The response is sent when this projection has the order: clients read their own writes.
    affects: [orderList],
    handler: async ({ id, ...order }) => {
      const price = await stock.price(order.sku);
      if (price === null) throw new HttpError(404, `There is no '${order.sku}' in this shop.`);
      const total = price * order.quantity;
      return app.database.transaction(async (tx) => {
        await orders.update(id, (one) => one.place({ ...order, total }), { create: true, tx });
        await checkouts.start({ order: id, ...order, total }, { id: `checkout-${id}`, tx });
        return { id };
      });
    },
  });
}
