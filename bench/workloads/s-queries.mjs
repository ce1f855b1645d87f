import { book, sameJson } from "../lib/library.mjs";

const ids = Array.from({ length: 20 }, (_, n) => 1 + n * 487);

/** 20 rows by their keys, each with a query of its own, all sent at once. */
export default {
  key: "s",
  name: "queries",
  group: "orm",
  kind: "queries",
  method: "GET",
  path: "/books",
  ids,
  value: sameJson(ids.map(book)),
};
