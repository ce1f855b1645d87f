import { type App, HttpError, sql } from "stoa";
import type { SagaHandle } from "stoa/saga";
import type { CheckoutInput } from "./checkout.js";
import type { placeOrder } from "./place-order.js";

/** Commands change, queries read: both over HTTP. */
export function addRoutes(
  app: App,
  place: ReturnType<typeof placeOrder>,
  checkouts: SagaHandle<CheckoutInput, unknown>,
): void {
  const [options, handler] = app.commands.route(place);
  const responses = {
    404: { description: "There is no such thing in this shop" },
    409: { description: "Another order has this id" },
  };
  app.post("/orders", { ...options, responses }, handler);

  app.get("/orders", (request) => request.db.fetch(sql`select * from order_list order by placed_at desc limit 100`));

  app.get("/orders/{id}", async (request) => {
    const order = await request.db.fetchrow(sql`select * from order_list where id = ${request.params.id}`);
    if (order === null) throw new HttpError(404, "there is no such order");
    return order;
  });

  // The saga ends by itself. This waits for it, so that a person at a terminal sees the end.
  app.get("/orders/{id}/outcome", async (request) => {
    const saga = `checkout-${request.params.id}`;
    if ((await app.sagas.get(saga)) === null) throw new HttpError(404, "there is no such order");
    const end = await checkouts.wait(saga, { timeoutMs: 10_000, signal: request.signal });
    return { status: end?.status ?? "running", error: end?.error ?? null };
  });

  app.get("/shipments", (request) =>
    request.db.fetch(sql`select order_id, sku, quantity from shipments order by order_id`),
  );
  app.get("/mails", (request) => request.db.fetch(sql`select recipient, subject from mails order by sent_at`));
  app.get("/stock", (request) => request.db.fetch(sql`select sku, available from stock order by sku`));
}
