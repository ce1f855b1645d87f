import { type App, HttpError } from "stoa";
import { type Command, command } from "stoa/cqrs";
import type { Repository } from "stoa/events";
import type { SagaHandle } from "stoa/saga";
import { z } from "zod";
import type { CheckoutInput } from "./checkout.js";
import type { Order } from "./order.js";
import { orderList } from "./order-list.js";
import type { Stock } from "./stock.js";

/** Text that can be stored: PostgreSQL takes no U+0000 and no half of a surrogate pair. */
const text = () =>
  z
    .string()
    .min(1)
    .max(100)
    .refine((value) => !/[\0\p{Surrogate}]/u.test(value), "contains a character that cannot be stored");

export const PlaceOrder = z.object({
  id: z.string().regex(/^[\w-]{1,50}$/),
  customer: text(),
  email: z.email(),
  sku: text(),
  quantity: z.int().min(1).max(100),
  gift: z.boolean().optional(),
});

type Placed = { id: string; saga: string };

export interface PlaceOrderParts {
  readonly app: App;
  readonly orders: Repository<Order>;
  readonly checkouts: SagaHandle<CheckoutInput, unknown>;
  readonly stock: Stock;
}

/**
 * The command that begins it all. The event and the start of the saga are in one transaction: an order that was stored is
 * checked out, and nothing else is. The same command again changes nothing; another one with the same id is refused (409).
 */
export function placeOrder({
  app,
  orders,
  checkouts,
  stock,
}: PlaceOrderParts): Command<z.input<typeof PlaceOrder>, Placed, typeof PlaceOrder> {
  return command("place-order", {
    schema: PlaceOrder,
    // The client can read its order when it has the response.
    affects: [orderList],
    handler: async ({ id, ...order }) => {
      const price = await stock.price(order.sku);
      if (price === null) throw new HttpError(404, `there is no '${order.sku}' in this shop`);
      const total = price * order.quantity;
      return app.database.transaction(async (tx) => {
        await orders.update(id, (one) => one.place({ ...order, total }), { create: true, tx });
        const saga = await checkouts.start({ order: id, ...order, total }, { id: `checkout-${id}`, tx });
        return { id, saga };
      });
    },
  });
}
