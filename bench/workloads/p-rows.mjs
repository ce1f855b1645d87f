import { book, sameJson } from "../lib/library.mjs";

const limit = 100;

/** 100 rows: 14 KiB of JSON. */
export default {
  key: "p",
  name: "rows",
  group: "orm",
  kind: "rows",
  method: "GET",
  path: "/books",
  limit,
  value: sameJson(Array.from({ length: limit }, (_, n) => book(n + 1))),
};
