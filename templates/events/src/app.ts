import { App, createLogger } from "stoa";
import { checkoutSaga } from "./checkout.js";
import { Order } from "./order.js";
import { orderList } from "./order-list.js";
import { Payments } from "./payments.js";
import { placeOrder } from "./place-order.js";
import { addRoutes } from "./routes.js";
import { readSettings, type Settings } from "./settings.js";
import { shipOrders } from "./shipping.js";
import { Stock } from "./stock.js";

/** Creates the application without starting it: each test has its own. The README follows an order through it. */
export default function createApp(settings: Settings = readSettings()): App {
  const app = new App();
  app.logger = createLogger({ level: settings.LOG_LEVEL });
  app.enableDatabase(settings.DATABASE_URL).enableOutbox();
  // The broker in memory ends with the process: for development and tests.
  if (settings.BROKER_URL === "memory:") app.enableMemoryBroker();
  else app.enableAmqp({ url: settings.BROKER_URL });
  // The pages of sagas need guards outside of development: `{ admin: { guards: [Role("operator")] } }`.
  app.enableEventSourcing().enableSaga(app.env === "development" ? { admin: {} } : {});
  app.enableCqrs({ enableEventSync: true });
  app.enableLogging().enableRequestId().enableHealthChecks().enableMetrics().enableLivePage();
  app.enableOpenapi({ title: "my-app", version: "1.0.0" });

  const stock = new Stock(app.database);
  const orders = app.eventStore.repository(Order);
  app.eventStore.project(orderList);
  const checkouts = app.saga(checkoutSaga({ app, orders, stock, payments: new Payments(app.database) }));
  shipOrders(app);
  addRoutes(app, placeOrder({ app, orders, checkouts, stock }));
  return app;
}
