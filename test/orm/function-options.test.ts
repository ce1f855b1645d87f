import { describe, expect, it } from "vitest";
import {
  arrayAgg,
  avg,
  count,
  extract,
  F,
  listOptions,
  stddev,
  stringAgg,
  sum,
  truncate,
  variance,
} from "../../src/entry/orm.js";
import { ValueError } from "../../src/kit/value-error.js";
import { Book } from "./bookshop.js";

/** What a program in JavaScript can give. */
const wrong = (given: unknown): never => given as never;

describe("options of functions", () => {
  it.each<[message: string, call: () => unknown]>([
    ["'timezone' in truncate(); did you mean 'timeZone'?", () => truncate("day", "at", wrong({ timezone: "UTC" }))],
    ["'zone' in extract(); its options are timeZone", () => extract("day", "at", wrong({ zone: "UTC" }))],
    ["'distinc' in count(); did you mean 'distinct'?", () => count("stock", wrong({ distinc: true }))],
    ["'result' in sum()", () => sum("stock", wrong({ result: "text" }))],
    ["'name' in avg()", () => avg("stock", wrong({ name: "sum" }))],
    ["'orderby' in arrayAgg(); did you mean 'orderBy'?", () => arrayAgg("title", wrong({ orderby: ["id"] }))],
    ["'odrerBy' in stringAgg(); did you mean 'orderBy'?", () => stringAgg("title", ",", wrong({ odrerBy: ["id"] }))],
    ["'popul' in variance(); did you mean 'population'?", () => variance("stock", wrong({ popul: true }))],
    ["'populaton' in stddev(); did you mean 'population'?", () => stddev("stock", wrong({ populaton: true }))],
  ])("A name that is no option is refused: %s", (message, call) => {
    expect(call).toThrow(ValueError);
    expect(call).toThrow(`unknown option ${message}`);
  });

  it.each<[message: string, call: () => unknown]>([
    ["'distinct' in count() must be true or false, not 1", () => count("stock", wrong({ distinct: 1 }))],
    ["'population' in stddev() must be true or false", () => stddev("stock", wrong({ population: "yes" }))],
    ["'orderBy' in arrayAgg() must be a list: write [ ]", () => arrayAgg("title", wrong({ orderBy: "id" }))],
    [
      "'orderBy' in stringAgg() must be a list of which each item is the name of a field, or an order such as",
      () => stringAgg("title", ",", wrong({ orderBy: ["id", 1] })),
    ],
    [
      "'orderBy' in arrayAgg() must be a list of which each item is",
      () => arrayAgg("title", wrong({ orderBy: [null] })),
    ],
    ["'orderBy' in arrayAgg() must be a list of which each item is", () => arrayAgg("title", { orderBy: [""] })],
    [
      "'timeZone' in truncate() must be the name of a time zone such as Europe/Berlin, not \"Mars\"",
      () => truncate("day", "at", { timeZone: "Mars" }),
    ],
    ["'time_zone' in extract() must be the name", () => extract("day", "at", wrong({ time_zone: 1 }))],
  ])("A value that is not allowed is refused: %s", (message, call) => {
    expect(call).toThrow(ValueError);
    expect(call).toThrow(`option ${message}`);
  });

  it.each<[call: string, made: (options: never) => unknown]>([
    ["truncate()", (options) => truncate("day", "at", options)],
    ["extract()", (options) => extract("day", "at", options)],
    ["count()", (options) => count("stock", options)],
    ["sum()", (options) => sum("stock", options)],
    ["avg()", (options) => avg("stock", options)],
    ["stddev()", (options) => stddev("stock", options)],
    ["variance()", (options) => variance("stock", options)],
    ["arrayAgg()", (options) => arrayAgg("stock", options)],
    ["stringAgg()", (options) => stringAgg("stock", ",", options)],
    ["asc()", (options) => F("stock").asc(options)],
    ["desc()", (options) => F("stock").desc(options)],
  ])("%s refuses options that are no object, and takes null for none", (call, made) => {
    for (const given of [0, "", false, true, "last"])
      expect(() => made(wrong(given)), String(given)).toThrow(`${call} takes an object of options, not `);
    expect(() => made(wrong(null))).not.toThrow();
    expect(() => made(wrong(undefined))).not.toThrow();
  });

  it("Both spellings of an option have the same effect, and null counts as not given", () => {
    const zone = { type: "truncate", timeZone: "Europe/Berlin" };
    expect(truncate("day", "at", { timeZone: "Europe/Berlin" }).node).toMatchObject(zone);
    expect(truncate("day", "at", wrong({ time_zone: "Europe/Berlin" })).node).toMatchObject(zone);
    expect(truncate("day", "at", wrong({ timeZone: null })).node).toEqual(truncate("day", "at").node);
    const ordered = arrayAgg("title", { orderBy: ["-year", F("id").asc()], distinct: true }).node;
    expect(arrayAgg("title", wrong({ order_by: ["-year", F("id").asc()], distinct: true })).node).toEqual(ordered);
    expect(ordered).toMatchObject({ name: "array_agg", result: "array", distinct: true });
    expect(ordered.orderBy).toMatchObject([
      { expression: { path: "year" }, descending: true },
      { expression: { path: "id" }, descending: false },
    ]);
    expect(variance("stock", { population: true }).node.name).toBe("var_pop");
    expect(variance("stock", wrong({ population: null })).node.name).toBe("variance");
  });
});

describe("options of other calls", () => {
  it("over() refuses unknown names, and orders and parts that are none", () => {
    const rank = (window: object) => () => count().over(wrong(window));
    expect(rank({ partitonBy: ["author"] })).toThrow(
      "unknown option 'partitonBy' in over(); did you mean 'partitionBy'?",
    );
    expect(rank({ orderBy: [1] })).toThrow("option 'orderBy' in over() must be a list of which each item is the name");
    expect(rank({ partitionBy: "author" })).toThrow("must be a list: write [ ] around the value");
    expect(rank({ order_by: ["id"] })().node).toEqual(count().over({ orderBy: ["id"] }).node);
    expect(count().over(wrong(null)).node).toEqual(count().over().node);
  });

  it("save() refuses options that are no object before it writes", async () => {
    for (const given of [0, "", false, "title"])
      await expect(new Book({ title: "New" }).save(wrong(given)), String(given)).rejects.toThrow(
        "save() takes an object of options, not ",
      );
  });

  it("iterator() takes as many rows at a time as its cursor does", () => {
    expect(() => Book.objects.iterator({ batch: 1_000_001 })).toThrow(
      "option 'batch' in iterator() must be an integer from 1 to 1000000, not 1000001",
    );
    expect(() => Book.objects.iterator({ batch: 1_000_000 })).not.toThrow();
  });

  it("A size over the largest one is refused with the name of the call", async () => {
    await expect(Book.objects.pageFrom({}, { size: 10, maxSize: 5 })).rejects.toThrow(
      "option 'maxSize' in pageFrom() must be at least size, 10",
    );
    await expect(Book.objects.pageFrom({}, { size: 10, maxSize: 5, by: "key" })).rejects.toThrow("in pageFrom()");
    expect(() => listOptions(Book, { size: 10, maxSize: 5 })).toThrow(
      "option 'maxSize' in listOptions() must be at least size, 10",
    );
  });

  it("listOptions() describes a default size within the largest one", () => {
    const sizes = (options: object): unknown =>
      listOptions(Book, options).openapi.parameters.find(({ name }) => name === "size")!["schema"];
    expect(sizes({ maxSize: 5 })).toEqual({ type: "integer", minimum: 1, maximum: 5, default: 5 });
    expect(sizes({ maxSize: 50, size: null })).toEqual({ type: "integer", minimum: 1, maximum: 50, default: 20 });
    expect(sizes({ size: 500 })).toEqual({ type: "integer", minimum: 1, maximum: 500, default: 500 });
  });
});
