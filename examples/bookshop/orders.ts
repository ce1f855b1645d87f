import { Blueprint, Response } from "stoa";
import { count, F, prefetch, sum } from "stoa/orm";
import { z } from "zod";
import { Conflict } from "./errors.js";
import { Order, OrderLine } from "./models.js";
import { cancelOrder, placeOrder } from "./place-order.js";
import { ErrorBody, Id, KeysetQuery, NewOrder } from "./schemas.js";

const missing = { 404: { description: "No order has this id", schema: ErrorBody } } as const;
const late = { 409: { description: "It is too late for that", schema: ErrorBody } } as const;

/** An order as it is shown: with its lines, and the books of these. */
const shown = Order.objects.prefetchRelated(prefetch("lines", OrderLine.objects.selectRelated("book").orderBy("id")));

export function orders(): Blueprint<"/orders"> {
  const routes = new Blueprint("/orders", { tags: ["orders"] });

  routes.post(
    "/",
    {
      summary: "Place an order",
      body: NewOrder,
      status: 201,
      responses: {
        404: { description: "There is no such book", schema: ErrorBody },
        409: { description: "There are too few copies of a book", schema: ErrorBody },
      },
    },
    async (request, { body }) => {
      const id = await placeOrder(request.db, body);
      const response = Response.json(await shown.get({ id }), 201);
      return response.header("Location", `/orders/${id}`);
    },
  );

  routes.get(
    "/",
    {
      summary: "Orders by key, the latest first",
      query: z.object({ ...KeysetQuery, status: z.enum(["placed", "shipped", "cancelled"]).optional() }),
      responses: { 400: { description: "The cursor is not one of this list", schema: ErrorBody } },
    },
    (_request, { query: { status, ...page } }) => {
      const latest = Order.objects.orderBy("-placedAt", "-id");
      return (status === undefined ? latest : latest.filter({ status })).keyset(page);
    },
  );

  routes.get("/{id}", { summary: "One order", params: Id, responses: missing }, (_request, { params }) =>
    shown.get({ id: params.id }),
  );

  routes.post(
    "/{id}/cancel",
    { summary: "Cancel an order", params: Id, responses: { ...missing, ...late } },
    async (request, { params }) => {
      await cancelOrder(request.db, params.id);
      return shown.get({ id: params.id });
    },
  );

  routes.post(
    "/{id}/ship",
    { summary: "Say that an order has left", params: Id, responses: { ...missing, ...late } },
    (request, { params }) =>
      request.db.transaction(async () => {
        // The lock makes whoever cancels wait: an order is shipped or cancelled, never both.
        const order = await Order.objects.forUpdate().get({ id: params.id });
        if (order.status !== "placed") throw new Conflict(`The order is ${order.status}`);
        order.status = "shipped";
        await order.save();
        return order;
      }),
  );

  return routes;
}

/** What sells: an aggregate over the lines of all orders that stand. */
export function reports(): Blueprint<"/reports"> {
  const routes = new Blueprint("/reports", { tags: ["reports"] });
  routes.get("/bestsellers", { summary: "The ten books of which most copies were sold" }, () =>
    OrderLine.objects
      .exclude({ order__status: "cancelled" })
      .values("book__id", "book__title")
      .annotate({ copies: sum("quantity"), orders: count(), revenue: sum(F("unitPrice").times(F("quantity"))) })
      .orderBy("-copies", "book__title")
      .limit(10),
  );
  return routes;
}
