import { type App, OperationalError, sql } from "stoa";
import { GrpcError, type GrpcInterceptor } from "stoa/grpc";
import type { z } from "zod";
import { ordersProto } from "./orders-proto.js";
import type { PlaceOrder, placeOrder } from "./place-order.js";

/** The command and a query once more, for other services. */
export function addGrpc(app: App, address: string, place: ReturnType<typeof placeOrder>): void {
  app.enableGrpc({ address, interceptors: [retryable] });
  app.addGrpcService(
    "shop.v1.Orders",
    {
      Place: async (order: z.input<typeof PlaceOrder>) => (await app.commands.execute(place, order)).value,
      async Get({ id }: { id: string }) {
        const order = await app.database.fetchrow(sql`select id, status from order_list where id = ${id}`);
        if (order === null) throw new GrpcError("NOT_FOUND", "there is no such order");
        return order;
      },
    },
    { proto: ordersProto },
  );
}

/** Tells a client that it can try again while the database is away. */
const retryable: GrpcInterceptor = async function* (_, next) {
  try {
    yield* next();
  } catch (error) {
    if (error instanceof OperationalError) throw new GrpcError("UNAVAILABLE", "the database is away", { cause: error });
    throw error;
  }
};
