import { authorWithBooks, sameJson } from "../lib/library.mjs";

const limit = 20;
const newest = 3;

/** 20 rows, each with the newest 3 of the rows that refer to it: a limit for each of them. */
export default {
  key: "ab",
  name: "nested read",
  group: "orm",
  kind: "nestedRead",
  method: "GET",
  path: "/authors",
  limit,
  newest,
  value: sameJson(Array.from({ length: limit }, (_, n) => authorWithBooks(n + 1, newest))),
};
