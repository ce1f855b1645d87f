import { App } from "stoa";
import { serve } from "stoa/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases } from "./databases.js";

class Offer extends Model("client_offers", {
  id: field.auto(),
  name: field.char({ maxLength: 20 }),
  code: field.uuid({ null: true }),
  price: field.decimal({ default: "1" }),
  printed: field.date({ null: true }),
  seen: field.datetime({ null: true }),
  stock: field.smallInt({ default: 0 }),
  views: field.bigInt({ default: 0 }),
  sold: field.bool({ default: false }),
}) {}

const filters = [
  ...["id", "id__in", "name__regex", "code", "price__gte", "printed", "printed__year", "seen__range", "stock"],
  ...["views", "sold", "name__isnull", "name"],
];

describeDatabases("filters and orders of clients", service("postgres"), [Offer], () => {
  const app = new App();
  let listening: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    await Offer.objects.bulkCreate([{ name: "a" }, { name: "b", stock: 5 }]);
    app.get("/offers", ({ query }) =>
      Offer.objects
        .filterFrom(query, filters as "id"[])
        .orderFrom(query.get("order"), ["id", "name", "stock"])
        .values("name"),
    );
    app.get("/mistake", ({ query }) => Offer.objects.filterFrom(query, ["nmae" as "name"]));
    listening = await serve(app);
  });
  afterAll(() => listening?.close());

  const get = async (path: string): Promise<{ status: number; type: string | null; body: unknown }> => {
    const response = await fetch(listening.url + path);
    return { status: response.status, type: response.headers.get("content-type"), body: await response.json() };
  };

  it.each([
    ["colour=red", '"colour" is not among the allowed filters'],
    ["name__icontains=a", '"name__icontains" is not among the allowed filters'],
    ["order=price", '"price" is not among the allowed orders'],
    ["order=-id,,name", '"" is not among the allowed orders'],
    ["id=x", '"id" needs a number'],
    ["id=99999999999", "Offer.id: expected an integer from"],
    ["id=1.5", "Offer.id: expected an integer"],
    ["id__in=1,x", '"id__in" needs a number'],
    ["code=1234", "Offer.code: expected"],
    ["price__gte=cheap", "Offer.price: expected a decimal"],
    ["printed=yesterday", "Offer.printed: expected"],
    ["printed__year=MMXX", "Offer.printed__year: expected"],
    ["seen__range=2020-01-01", "Offer.seen: range takes a list of two values"],
    ["stock=70000", "Offer.stock: expected an integer from"],
    ["views=1e3", '"views" needs an integer'],
    ["sold=maybe", '"sold" needs true or false'],
    ["name__isnull=2", '"name__isnull" needs true or false'],
    ["name=%00", "Offer.name"],
    ["name__regex=(", "regular expression"],
    ["printed=2026-02-30", "date/time field value out of range"],
    ["seen__range=2026-01-01T00:00:00Z,2026-01-01T00:00:00%2B23:59", "time zone displacement out of range"],
    ["price__gte=1e200000", "expected a smaller exponent"],
    ["price__gte=1e-20000", "expected a smaller exponent"],
  ])("The query string ?%s gets 400 with the reason", async (query, reason) => {
    expect(await get(`/offers?${query}`)).toMatchObject({
      status: 400,
      type: expect.stringContaining("json") as string,
      body: { status: 400, detail: expect.stringContaining(reason) as string },
    });
  });

  it("Valid filters and orders are applied, and the first of two orders of a field counts", async () => {
    expect((await get("/offers?stock=5&price__gte=0.5")).body).toEqual([{ name: "b" }]);
    expect((await get("/offers?order=-id,id,-id")).body).toEqual([{ name: "b" }, { name: "a" }]);
  });

  it("A filter that the program itself allows by a wrong name is an error of the program", async () => {
    expect((await get("/mistake?nmae=x")).status).toBe(500);
  });
});
