import { book, sameJson } from "../lib/library.mjs";

const id = 4711;

/** One row by its key. */
export default {
  key: "o",
  name: "row",
  group: "orm",
  kind: "row",
  method: "GET",
  path: `/books/${id}`,
  value: sameJson(book(id)),
};
