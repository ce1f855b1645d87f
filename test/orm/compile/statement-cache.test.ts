import { describe, expect, it } from "vitest";
import { F, FieldError, field, Model, prefetch } from "../../../src/entry/orm.js";
import { compileJson, compileSelect } from "../../../src/orm/compile/statement-cache.js";

const makeModel = () =>
  class Thing extends Model("things", { id: field.auto(), size: field.int(), name: field.text() }) {};

describe("statements of the same shape", () => {
  it("Statements of the same shape are compiled once, for all values", () => {
    const { objects } = makeModel();
    const first = compileSelect(objects.filter({ size__gte: 1, name: "a" }).query);
    const second = compileSelect(objects.filter({ size__gte: 2, name: "b" }).query);
    expect(second.text).toBe(first.text);
    expect(second.plan).toBe(first.plan);
    expect(second.params).toEqual([2, "b"]);
  });

  it("Statements for rows, for JSON and for null are compiled separately", () => {
    const { objects } = makeModel();
    const { query } = objects.filter({ size: 1 });
    expect(compileJson(query).plan).not.toBe(compileSelect(query).plan);
    expect(compileSelect(objects.filter({ name: null } as never).query).text).toContain("IS NULL");
    expect(compileSelect(objects.filter({ name: "a" }).query).text).not.toContain("IS NULL");
  });

  it("The limit is part of the statement's text for a few values, then a parameter", () => {
    const { objects } = makeModel();
    const compile = (limit: number) => compileSelect(objects.filter({ size: 7 }).limit(limit).query);
    for (let limit = 1; limit <= 8; limit++) {
      expect(compile(limit).text).toMatch(new RegExp(` LIMIT ${limit}$`));
      expect(compile(limit).params).toEqual([7]);
    }
    for (const limit of [9, 10, 5000]) {
      expect(compile(limit).text).toMatch(/ LIMIT \$2$/);
      expect(compile(limit).params).toEqual([7, limit]);
    }
    expect(compile(3).text).toMatch(/ LIMIT 3$/);
    expect(compile(0).text).toMatch(/ LIMIT \$2$/);
  });

  it("The limit of a statement that is not cached is a parameter", () => {
    const { objects } = makeModel();
    const compiled = compileSelect(objects.filter({ size: F("id") }).limit(5).query);
    expect(compiled.text).toMatch(/ LIMIT \$1$/);
    expect(compiled.params).toEqual([5]);
  });

  it("The offset of a statement is a parameter", () => {
    const { objects } = makeModel();
    const page = (offset: number) => compileSelect(objects.orderBy("id").limit(20).offset(offset).query);
    expect(page(20).text).toMatch(/ LIMIT 20 OFFSET \$1$/);
    expect(page(40).text).toBe(page(20).text);
    expect(page(40).params).toEqual([40]);
  });

  it("A key that imitates the shape of two lookups does not find their statement", () => {
    const { objects } = makeModel();
    const pair = compileSelect(objects.filter({ size: 1, name: "a" }).query);
    expect(pair.params).toEqual([1, "a"]);
    const forged = { "size\n?vname": 1 } as never;
    expect(() => compileSelect(objects.filter(forged).query)).toThrow(FieldError);
    const inOne = { type: "and", children: [{ type: "lookup", key: "size\n?vname", value: 1 }] } as const;
    expect(() => compileSelect({ ...objects.query, where: [inOne] })).toThrow(FieldError);
  });

  it("Statements with different expressions are not shared", () => {
    const { objects } = makeModel();
    const one = compileSelect(objects.filter({ size: F("id") }).query);
    const other = compileSelect(objects.filter({ size: F("size") }).query);
    expect(other.text).not.toBe(one.text);
  });

  it("Statements for JSON with different expressions in prefetched rows are not shared", () => {
    class Owner extends Model("owners", { id: field.auto() }) {}
    class Pet extends Model("pets", {
      id: field.auto(),
      age: field.int(),
      owner: field.foreignKey(() => Owner, { relatedName: "pets" }),
    }) {}
    const compiled = (name: "id" | "age") => {
      const pets = prefetch("pets", Pet.objects.filter({ age: F(name) }));
      return compileJson(Owner.objects.prefetchRelated(pets as never).query).text;
    };
    expect(compiled("age")).not.toBe(compiled("id"));
  });
});
