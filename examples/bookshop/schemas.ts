import { z } from "zod";

/** Input that is no model: parameters, queries and orders. */

/** Numbers that fit into the column of a key. */
const key = z.int().min(1).max(2_147_483_647);

export const Id = z.object({ id: key });

const size = z.int().min(1).max(100).default(20).describe("Rows on a page");

export const PageQuery = {
  page: z.int().min(1).max(1_000_000).default(1),
  size,
  order: z.string().optional().describe("Fields to sort by, separated by commas; `-` before one reverses it"),
};

export const KeysetQuery = {
  after: z.string().optional().describe("`next` of the page before"),
  size,
};

export const Delivery = z.object({ quantity: z.int().min(1).max(1_000_000) }).meta({ id: "Delivery" });

/** Text that a column can hold: PostgreSQL stores no U+0000 and no half of a surrogate pair. */
const text = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((value) => !/[\0\p{Surrogate}]/u.test(value), "contains a character that cannot be stored");

export const TagNames = z.array(text(40)).max(20).meta({ id: "TagNames" });

export const NewOrder = z
  .object({
    customer: text(100),
    email: z.email().max(254),
    lines: z
      .array(z.object({ bookId: key, quantity: z.int().min(1).max(1000) }))
      .min(1)
      .max(100)
      .refine((lines) => new Set(lines.map(({ bookId }) => bookId)).size === lines.length, "a book stands in one line"),
  })
  .meta({ id: "NewOrder" });

export type NewOrder = z.infer<typeof NewOrder>;

export const ErrorBody = z.object({ error: z.string() }).meta({ id: "Error" });
