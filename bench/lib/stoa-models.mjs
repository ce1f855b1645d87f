import { stoaEntry } from "./stoa-build.mjs";

export const stoa = await stoaEntry();
export const orm = await stoaEntry("orm");

const { field, Model } = orm;

export class Author extends Model("authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  country: field.char({ maxLength: 2 }),
  get books() {
    return field.reverse(() => Book, "author");
  },
}) {}

export class Book extends Model("books", {
  id: field.auto(),
  title: field.char({ maxLength: 200 }),
  author: field.foreignKey(() => Author),
  year: field.int({ null: true }),
  inStock: field.bool(),
  price: field.float(),
  createdAt: field.datetime({ autoNowAdd: true }),
}) {}
