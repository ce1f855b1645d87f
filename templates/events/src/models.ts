import { field, Model } from "stoa/orm";

/** The tables of stock, payments and shipping. Events, sagas and the outbox have tables of their own, made at the start. */

export class StockItem extends Model("stock", {
  sku: field.char({ maxLength: 100, primaryKey: true }),
  price: field.int({ check: "price >= 0", comment: "In cents" }),
  available: field.int({ check: "available >= 0" }),
}) {}

export class Reservation extends Model("reservations", {
  key: field.text({ primaryKey: true }),
  sku: field.char({ maxLength: 100 }),
  quantity: field.int(),
  released: field.bool({ default: false }),
}) {}

export class Payment extends Model("payments", {
  key: field.text({ primaryKey: true }),
  customer: field.char({ maxLength: 100 }),
  amount: field.int({ comment: "In cents" }),
  refunded: field.bool({ default: false }),
}) {}

export class Shipment extends Model("shipments", {
  orderId: field.text({ primaryKey: true }),
  sku: field.char({ maxLength: 100 }),
  quantity: field.int(),
  createdAt: field.datetime({ autoNowAdd: true }),
}) {}
