import { randomUUID } from "node:crypto";
import { Blueprint, HttpError } from "stoa";
import { z } from "zod";
import { Category, NewProduct, Picture, Product, ProductPage, ProductQuery, Review } from "./schemas.js";

type Item = z.infer<typeof Product>;

const Id = z.object({ id: z.uuid() });

/** What anybody may read, and the staff may change. */
export function catalogue(): Blueprint<"/catalogue"> {
  const items = new Map<string, Item>();
  const shop = new Blueprint("/catalogue", { tags: ["catalogue"] });
  const missing = { 404: "No product has this id" };
  const productOf = (id: string): Item => {
    const product = items.get(id);
    if (product === undefined) throw new HttpError(404, "No product has this id.");
    return product;
  };

  shop.get("/products", { summary: "Search products", query: ProductQuery, response: ProductPage }, (_, { query }) => {
    const found = [...items.values()].filter(({ name, tags, price, discontinued }) => {
      if (query.inStock && discontinued) return false;
      if (query.maxPrice !== undefined && price.amount > query.maxPrice) return false;
      if (query.tag && !query.tag.some((tag) => tags.includes(tag))) return false;
      return query.q === undefined || name.toLowerCase().includes(query.q.toLowerCase());
    });
    return { items: found.slice((query.page - 1) * 20, query.page * 20), next: null };
  });

  shop.post(
    "/products",
    { summary: "Add a product", body: NewProduct, response: Product, status: 201 },
    (_, { body }) => {
      const product = { id: randomUUID(), ...body, createdAt: new Date(), discontinued: false };
      items.set(product.id, product);
      return product;
    },
  );

  shop.get(
    "/products/{id}",
    { summary: "Get a product", params: Id, response: Product, responses: missing },
    (_, { params }) => productOf(params.id),
  );

  shop.patch(
    "/products/{id}",
    { summary: "Change a product", params: Id, body: NewProduct.partial(), response: Product, responses: missing },
    (_, { params, body }) => {
      const product = productOf(params.id);
      const changes = Object.entries(body).filter(([, value]) => value !== undefined);
      return Object.assign(product, Object.fromEntries(changes));
    },
  );

  shop.delete(
    "/products/{id}",
    { summary: "Discontinue a product", params: Id, response: z.undefined(), deprecated: true },
    (_, { params }) => {
      const product = items.get(params.id);
      if (product) product.discontinued = true;
    },
  );

  shop.get("/similar/{id}", { params: Id, response: ProductPage }, () => ({ items: [], next: null }));

  shop.post(
    "/products/{product}/pictures",
    {
      summary: "Add a picture",
      form: Picture,
      status: 201,
      response: z.object({ bytes: z.int(), cover: z.boolean() }),
    },
    (_, { form }) => ({ bytes: form.file.size, cover: form.cover }),
  );

  shop.post(
    "/products/{product}/reviews",
    { summary: "Write a review", form: Review, response: Review },
    (_, { form }) => form,
  );

  shop.get("/categories", { summary: "All categories", response: z.array(Category) }, () => []);

  shop.get(
    "/label/{id}",
    { summary: "The label of a product", params: Id, response: z.string(), responses: missing },
    (_, { params }) => productOf(params.id).name,
  );

  // What is read as it comes has no schema: it is described by hand.
  shop.post(
    "/import",
    {
      summary: "Import products",
      stream: true,
      openapi: {
        requestBody: { required: true, content: { "application/x-ndjson": { schema: { type: "string" } } } },
        "x-internal": true,
      },
    },
    async (request) => {
      let bytes = 0;
      for await (const piece of request.stream()) bytes += piece.length;
      return { bytes };
    },
  );

  shop.get("/files/{path:*}", { summary: "A file of a product" }, (request) => request.params.path);
  return shop;
}
