import { migration, op } from "stoa/migrations";

export default migration({
  operations: [
    op.createTable("payments", {
      columns: {
        key: { type: "text" },
        customer: { type: "varchar(100)" },
        amount: { type: "integer", comment: "In cents" },
        refunded: { type: "boolean", default: "false" },
      },
      primaryKey: ["key"],
    }),
    op.createTable("reservations", {
      columns: {
        key: { type: "text" },
        sku: { type: "varchar(100)" },
        quantity: { type: "integer" },
        released: { type: "boolean", default: "false" },
      },
      primaryKey: ["key"],
    }),
    op.createTable("shipments", {
      columns: {
        order_id: { type: "text" },
        sku: { type: "varchar(100)" },
        quantity: { type: "integer" },
        created_at: { type: "timestamp(3) with time zone", default: "CURRENT_TIMESTAMP" },
      },
      primaryKey: ["order_id"],
    }),
    op.createTable("stock", {
      columns: {
        sku: { type: "varchar(100)" },
        price: { type: "integer", comment: "In cents" },
        available: { type: "integer" },
      },
      primaryKey: ["sku"],
      checks: {
        stock_price_check: "price >= 0",
        stock_available_check: "available >= 0",
      },
    }),
  ],
});
