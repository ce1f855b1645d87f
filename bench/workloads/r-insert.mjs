import { newBook } from "../lib/library.mjs";

/** One row is inserted and comes back, with the key and the time that the database gave it. */
export default {
  key: "r",
  name: "insert",
  group: "orm",
  kind: "insert",
  method: "POST",
  path: "/books",
  body: { type: "application/json", text: JSON.stringify(newBook) },
  value(text) {
    const { id, createdAt } = JSON.parse(text);
    const recent = Math.abs(Date.now() - Date.parse(createdAt)) < 60_000;
    return Number.isInteger(id) && recent && text === JSON.stringify({ id, ...newBook, createdAt });
  },
};
