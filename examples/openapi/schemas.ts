import { z } from "zod";

export const Money = z
  .object({ amount: z.number().nonnegative(), currency: z.enum(["EUR", "USD", "GBP"]) })
  .meta({ id: "Money", examples: [{ amount: 12.5, currency: "EUR" }] });

export const Category = z
  .object({
    slug: z.string().regex(/^[a-z-]+$/),
    name: z.string(),
    get children() {
      return z.array(Category).optional();
    },
  })
  .meta({ id: "Category", description: "A shelf of the shop; shelves stand within shelves." });

const productFields = {
  name: z.string().min(1).max(200),
  description: z.string().default("").describe("Markdown"),
  price: Money,
  tags: z.array(z.string()).max(20).default([]),
  weight: z.number().positive().optional().describe("Kilograms"),
};

export const NewProduct = z.object(productFields).meta({ id: "NewProduct" });
export const Product = z
  .object({ id: z.uuid(), ...productFields, createdAt: z.date(), discontinued: z.boolean() })
  .meta({ id: "Product" });

/** Without a name of its own: it is shared because several routes answer with it, and named after the first. */
export const ProductPage = z.object({
  items: z.array(Product),
  next: z.url().nullable().describe("Where the next page is"),
});

export const ProductQuery = z.object({
  q: z.string().optional().describe("Words that the name holds"),
  tag: z.array(z.string()).optional().describe("Any of these tags; may be given several times"),
  inStock: z.boolean().default(true),
  maxPrice: z.number().positive().optional(),
  page: z.int().min(1).default(1),
  sort: z.enum(["name", "-name", "price", "-price"]).default("name").meta({ deprecated: true }),
});

const Card = z.object({ kind: z.literal("card"), token: z.string() });
const Transfer = z.object({ kind: z.literal("transfer"), iban: z.string().length(22) });
const Voucher = z.object({ kind: z.literal("voucher"), code: z.string(), rest: z.bigint().optional() });

export const Payment = z.discriminatedUnion("kind", [Card, Transfer, Voucher]).meta({ id: "Payment" });

export const Line = z.object({ product: z.uuid(), count: z.int().min(1).max(99) });

export const NewOrder = z.object({ lines: z.array(Line).min(1), payment: Payment, note: z.string().nullish() });
export const Order = z.object({
  id: z.int(),
  lines: z.array(Line),
  total: Money,
  state: z.enum(["open", "paid", "sent", "returned"]),
  placedAt: z.date(),
});

export const Review = z.object({ stars: z.int().min(1).max(5), text: z.string().max(5000).optional() });

export const Picture = z.object({
  file: z.file().max(5_000_000).describe("JPEG or PNG"),
  caption: z.string().max(200).optional(),
  cover: z.boolean().default(false),
});

export const Trace = z.object({ "X-Tenant": z.string(), "X-Trace": z.uuid().optional() });
