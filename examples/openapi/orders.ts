import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { ApiKeyAuth, Authenticated, Blueprint, HttpError, Role } from "stoa";
import * as v from "valibot";
import { z } from "zod";
import { NewOrder, Order, Trace } from "./schemas.js";

type Placed = z.infer<typeof Order>;

// Schemas may be of any library that implements Standard Schema.
const Refund = toStandardJsonSchema(
  v.object({ reason: v.pipe(v.string(), v.minLength(3)), amount: v.optional(v.number()) }),
);
const Range = type({ "from?": "string.date.iso", "to?": "string.date.iso", limit: "number.integer = 20" });

/** Orders of customers, and what the staff does with them. */
export function orders(): Blueprint<"/orders"> {
  const placed: Placed[] = [];
  const shop = new Blueprint("/orders", { tags: ["orders"], guards: [Authenticated()] });
  const find = (id: number): Placed => {
    const order = placed[id - 1];
    if (order === undefined) throw new HttpError(404, "No order has this id.");
    return order;
  };
  const Id = z.object({ id: z.int().min(1) });

  shop.get("/", { summary: "Your orders", query: Range, response: z.array(Order) }, (_, { query }) =>
    placed.slice(0, query.limit),
  );

  shop.post(
    "/",
    {
      summary: "Place an order",
      operationId: "placeOrder",
      headers: Trace,
      body: NewOrder,
      response: Order,
      status: 201,
      rateLimit: { maxRequests: 10, windowSecs: 60 },
      responses: {
        402: "The payment was refused",
        409: { description: "A product is sold out", example: { sold: ["…"] } },
      },
    },
    (_, { body }) => {
      const order = {
        id: placed.length + 1,
        lines: body.lines,
        total: { amount: 0, currency: "EUR" as const },
        state: "open" as const,
        placedAt: new Date(),
      };
      placed.push(order);
      return order;
    },
  );

  shop.get("/{id}", { summary: "One order", params: Id, response: Order }, (_, { params }) => find(params.id));

  const staff = new Blueprint("/{id}/staff", { tags: ["staff"], guards: [Role("staff")] });
  staff.use(new ApiKeyAuth({ "key-of-the-warehouse": "warehouse" }));
  staff.put("/refund", { summary: "Refund an order", params: Id, body: Refund, response: Order }, (_, { params }) =>
    find(params.id),
  );
  staff.route("/note", { methods: ["PUT", "POST"], operationId: "note", body: z.string().optional() }, () => undefined);
  shop.registerBlueprint(staff);
  return shop;
}
