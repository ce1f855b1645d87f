import { z } from "zod";

/** Text with at least one letter, digit or sign. The pattern is part of the document: `trim().min(1)` would not be. */
const name = () => z.string().regex(/\S/, "must not be blank").trim();

/** Without an example, pages of the API show the largest number that JSON can hold. */
const id = z
  .int()
  .positive()
  .meta({ examples: [1] });

const fields = {
  title: name().meta({ examples: ["Emma"] }),
  author: name().meta({ examples: ["Jane Austen"] }),
  genre: name().meta({ examples: ["Novel"] }),
  year: z
    .int()
    .nullable()
    .meta({ examples: [1815] }),
};

export const Book = z.object({ id, ...fields }).meta({ id: "Book" });
export const BookChanges = z.object(fields).partial().meta({ id: "BookChanges" });
export const NewBook = BookChanges.extend({ title: fields.title }).meta({ id: "NewBook" });
export const BookList = z
  .object({
    books: z.array(Book),
    total: z
      .int()
      .nonnegative()
      .meta({ examples: [1] }),
  })
  .meta({ id: "BookList" });
export const Deleted = z.object({ deleted: z.literal(true), id }).meta({ id: "Deleted" });
export const ErrorBody = z.object({ error: z.string() }).meta({ id: "Error" });

/** The id in the path is text; it is converted, because the schema says that it is an integer. */
export const BookId = z.object({ id });
