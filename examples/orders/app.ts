import { App } from "stoa";
import { type BrokerChoice, brokerChecks, brokerOf, enableBroker } from "./broker.js";
import { checkoutSaga } from "./checkout.js";
import { addGrpc } from "./grpc.js";
import { mailJob } from "./mail.js";
import { Order } from "./order.js";
import { orderList } from "./order-list.js";
import { Payments } from "./payments.js";
import { placeOrder } from "./place-order.js";
import { addRoutes } from "./routes.js";
import { consumeOrders } from "./shipping.js";
import { Stock } from "./stock.js";
import { createTables } from "./tables.js";

export interface OrdersOptions extends BrokerChoice {
  /** Where the data is: `postgres://...`, `pglite:` in memory, `pglite:./folder`. */
  readonly database: string;
  /** Serves the pages of sagas and jobs. Outside of development they need guards: `{ guards: [new Role("operator")] }`. */
  readonly pages?: boolean | undefined;
  /** Where gRPC is served, as `127.0.0.1:50051`. Without it there is none. */
  readonly grpc?: string | undefined;
}

/** Orders from the command to the mail; the README follows one of them. */
export function ordersApp(options: OrdersOptions): App {
  return ordersShop(options).app;
}

/** The application and its command, for those who offer it in further ways. */
export function ordersShop(options: OrdersOptions): { app: App; place: ReturnType<typeof placeOrder> } {
  const app = new App();
  app.enableDatabase(options.database).enableOutbox();
  enableBroker(app, options);
  const operators = options.pages ? { admin: {} } : {};
  app.enableEventSourcing().enableJobs(operators).enableCqrs({ enableEventSync: true });
  // Eight retries take 51 seconds: a full disk or a restart of the database refuses no order.
  app.enableSaga({ ...operators, maxRetries: 8, timeoutMs: "10m" });
  // Without the broker orders are still taken: their messages wait in the outbox.
  app.enableHealthChecks({ optional: [brokerChecks[options.broker], "consumers"] });
  app.enableMetrics().enableLivePage().enableOpenapi({ title: "Orders" }).enableAsyncapi("Orders");
  app.onEvent("startup", () => createTables(app.database));

  const stock = new Stock(app.database);
  const payments = new Payments(app.database);
  const orders = app.eventStore.repository(Order);
  app.eventStore.project(orderList);
  const checkouts = app.saga(checkoutSaga({ app, orders, stock, payments }));
  consumeOrders(app, mailJob(app));
  const place = placeOrder({ app, orders, checkouts, stock });
  addRoutes(app, place, checkouts);
  if (options.grpc !== undefined) addGrpc(app, options.grpc, place);
  return { app, place };
}

/** The application as the environment describes it: for main.ts, and for `stoa messages`. */
export default function app(): App {
  const database = process.env["DATABASE_URL"] ?? "pglite:";
  const pages = (process.env["STOA_ENV"] ?? process.env["NODE_ENV"]) !== "production";
  return ordersApp({ database, pages, grpc: process.env["GRPC_ADDRESS"], ...brokerOf(process.env) });
}
