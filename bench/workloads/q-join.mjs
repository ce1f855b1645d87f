import { bookWithAuthor, sameJson } from "../lib/library.mjs";

const limit = 20;

/** 20 rows, each with the row of another table that it refers to. */
export default {
  key: "q",
  name: "join",
  group: "orm",
  kind: "join",
  method: "GET",
  path: "/books",
  limit,
  value: sameJson(Array.from({ length: limit }, (_, n) => bookWithAuthor(n + 1))),
};
