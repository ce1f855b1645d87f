import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { baseType, normalizeType, typeName } from "../../../src/orm/schema/type-names.js";
import { emptyDatabases } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";

const empty = emptyDatabases(service("postgres"));

describe("the name of a type", () => {
  it.each([
    ["int", "integer"],
    ["INT4", "integer"],
    ["int2[]", "smallint[]"],
    ["bigint [ 3 ] []", "bigint[][]"],
    ["bool", "boolean"],
    ["float8", "double precision"],
    ["float(10)", "real"],
    ["decimal", "numeric"],
    ["numeric(10,2)", "numeric(10, 2)"],
    ["numeric( 10 )", "numeric(10, 0)"],
    ["character varying(20)", "varchar(20)"],
    ["Character  Varying", "varchar"],
    ["character(3)", "char(3)"],
    ["char", "char(1)"],
    ['"char"', '"char"'],
    ["timestamptz", "timestamp with time zone"],
    ["timestamptz(3)", "timestamp(3) with time zone"],
    ["timestamp (3) WITH TIME ZONE", "timestamp(3) with time zone"],
    ["timestamp", "timestamp without time zone"],
    ["timestamp(0)[]", "timestamp(0) without time zone[]"],
    ["timetz(2)", "time(2) with time zone"],
    ["varbit(4)", "bit varying(4)"],
    ["pg_catalog.int8", "bigint"],
    ['"status"', "status"],
    ['"Status"[]', '"Status"[]'],
    ['"order"', '"order"'],
    ['"shop"."State"', 'shop."State"'],
    ['"it""s"', '"it""s"'],
    ["geometry(Point,4326)", "geometry(point, 4326)"],
    ["interval", "interval"],
  ])("The type %s is normalized to %s", (given, expected) => {
    expect(normalizeType(given)).toBe(expected);
    expect(normalizeType(expected)).toBe(expected);
  });

  it("PostgreSQL accepts the normalized name of a type and returns the same", async () => {
    const db = await openDatabase(await empty());
    onTestFinished(() => db.close());
    await db.script(
      "CREATE TYPE status AS ENUM ('a'); CREATE TYPE \"Order\" AS ENUM ('a'); CREATE SCHEMA shop; CREATE TYPE shop.size AS ENUM ('a')",
    );
    const types = [
      "smallint integer bigint real numeric boolean text uuid jsonb date bytea interval tsvector varchar status".split(
        " ",
      ),
      "double precision,numeric(10, 2),varchar(20),char(3),bit(4),bit varying(3),text[],varchar(20)[]".split(/,(?! )/),
      "timestamp(3) with time zone,timestamp without time zone,time(2) with time zone,time without time zone[]".split(
        ",",
      ),
      ['"Order"', '"Order"[]', "shop.size"],
    ].flat();
    for (const type of types) {
      expect(normalizeType(type)).toBe(type);
      await db.script(`DROP TABLE IF EXISTS t; CREATE TABLE t (c ${type})`);
      const told = await db.fetchval<string>(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'c'",
      );
      expect(normalizeType(told!)).toBe(type);
    }
  });

  it("The name of a type is quoted if it must be", () => {
    expect(typeName("status")).toBe("status");
    expect(typeName("shop.Order")).toBe('shop."Order"');
    expect(typeName("user")).toBe('"user"');
  });

  it("baseType() returns the type of an array's items, without its length", () => {
    expect(baseType("varchar(20)[][]")).toBe("varchar");
    expect(baseType("timestamp(3) with time zone")).toBe("timestamp with time zone");
  });
});
