import { field, type Manager, Model, timestamps } from "stoa/orm";

/** The models of the shop. `migrations/` is made from them. */

export class Author extends Model(
  "authors",
  {
    id: field.auto(),
    name: field.char({ maxLength: 100 }),
    sortName: field.char({ maxLength: 110, index: true, readOnly: true, comment: "The name as a catalogue sorts it" }),
    born: field.int({ null: true, comment: "Year of birth" }),
    get books() {
      return field.reverse(() => Book, "author");
    },
  },
  { ordering: ["sortName", "id"] },
) {}

export class Tag extends Model(
  "tags",
  {
    id: field.auto(),
    name: field.char({ maxLength: 40, unique: true }),
    get books() {
      return field.reverse(() => Book, "tags");
    },
  },
  { ordering: ["name"] },
) {}

export class Book extends Model(
  "books",
  {
    id: field.auto(),
    isbn: field.char({
      maxLength: 13,
      unique: true,
      check: "isbn ~ '^[0-9]{13}$'",
      comment: "ISBN-13 without hyphens",
    }),
    title: field.char({ maxLength: 200, index: true }),
    author: field.foreignKey(() => Author, { onDelete: "restrict" }),
    year: field.int({ null: true }),
    price: field.decimal({ precision: 10, scale: 2, check: "price >= 0" }),
    // Not set by those who edit a book: deliveries add to it and orders take from it.
    stock: field.int({ default: 0, check: "stock >= 0", readOnly: true }),
    tags: field.manyToMany(() => Tag),
    ...timestamps(),
  },
  { indexes: [["price", "id"]] },
) {
  declare static objects: Manager<Book>;

  get label(): string {
    return this.year === null ? this.title : `${this.title} (${this.year})`;
  }
}

export class Order extends Model(
  "orders",
  {
    id: field.auto(),
    customer: field.char({ maxLength: 100 }),
    email: field.char({ maxLength: 254, index: true }),
    status: field.enum(["placed", "shipped", "cancelled"], { default: "placed", index: true }),
    total: field.decimal({ precision: 12, scale: 2, default: "0" }),
    placedAt: field.datetime({ autoNowAdd: true }),
    get lines() {
      return field.reverse(() => OrderLine, "order");
    },
  },
  { indexes: [["placedAt", "id"]] },
) {}

export class OrderLine extends Model(
  "order_lines",
  {
    id: field.auto(),
    // The unique constraint below is an index that begins with it.
    order: field.foreignKey(() => Order, { index: false }),
    book: field.foreignKey(() => Book, { onDelete: "restrict" }),
    quantity: field.int({ check: "quantity > 0" }),
    unitPrice: field.decimal({ precision: 10, scale: 2, comment: "The price when the order was placed" }),
  },
  { unique: [["order", "book"]] },
) {}

export const models = [Author, Tag, Book, Order, OrderLine];
