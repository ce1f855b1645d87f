import { App, JwtAuth } from "stoa";
import { catalogue } from "./catalogue.js";
import { orders } from "./orders.js";
import { Line, Order } from "./schemas.js";

/** A larger API, for its documentation: every kind of parameter, body, answer and protection there is. */
export function shopApp(): App {
  const app = new App();
  const jwt = new JwtAuth({ secret: process.env["SHOP_SECRET"] ?? "only for trying the example, never for a shop" });
  app.use(jwt.skipPath("/catalogue", "/docs", "/redoc", "/openapi.json", "/live"));
  app.registerBlueprint(catalogue());
  app.registerBlueprint(orders());

  app.websocket("/live/{product}", { tags: ["catalogue"], summary: "Prices as they change" }, async (socket) => {
    await socket.sendJson({ product: socket.request.params.product, price: 1 });
  });

  app.get("/internal/state", { hidden: true }, () => "not documented");
  app.enableRateLimit();
  app.enableHealthChecks();
  app.enableOpenapi({
    title: "Shop",
    version: "2.0.0",
    summary: "A shop that sells nothing",
    description: "Search the **catalogue** without an account; place orders with one.",
    contact: { name: "The shop", email: "shop@shop.test" },
    license: { name: "MIT", identifier: "MIT" },
    servers: [
      { url: "/", description: "This server" },
      { url: "https://api.shop.test/v2", description: "Production" },
    ],
    tags: { catalogue: "What there is", orders: "What was bought", staff: "For those who work here" },
    schemas: { Order, Line },
    externalDocs: { url: "https://shop.test/handbook", description: "The handbook" },
  });
  return app;
}
