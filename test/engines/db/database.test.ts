import { getEventListeners } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Database, Transaction } from "../../../src/engines/db/database.js";
import {
  CheckViolation,
  DatabaseError,
  DataError,
  ExclusionViolation,
  ForeignKeyViolation,
  NotNullViolation,
  OperationalError,
  ParameterRangeError,
  ParameterTypeError,
  ParameterValueError,
  ProgrammingError,
  RuntimeError,
  UniqueViolation,
} from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { sql } from "../../../src/engines/db/sql/sql.js";
import { json } from "../../../src/engines/db/values/json.js";
import { service } from "../../support/service.js";
import { bothEngines } from "./engines.js";

const schema = `
  create table authors (id serial primary key, name text not null, email text unique);
  create table books (
    id serial primary key,
    title varchar(20) not null,
    author_id int not null references authors (id),
    year int constraint books_year_check check (year > 0),
    unique (title, author_id)
  );
  create table stays (room int, during int4range, exclude using gist (during with &&));
`;

describe.each(bothEngines(service("postgres")))("a database on $name", ({ name, make }) => {
  let db: Database;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const made = await make();
    drop = made.drop;
    // Hundreds of calls at once wait for connections longer than the default on a busy machine.
    db = await openDatabase({ url: made.url, acquireTimeout: "2m" });
    await db.script(schema);
  });

  afterAll(async () => {
    await db?.close();
    await drop?.();
  });

  beforeEach(async () => {
    await db.execute("truncate authors, books, stays restart identity");
  });

  const failure = async (promise: PromiseLike<unknown>): Promise<DatabaseError> => {
    try {
      await promise;
    } catch (error) {
      expect(error).toBeInstanceOf(DatabaseError);
      return error as DatabaseError;
    }
    throw new Error("the statement did not fail");
  };

  it("A database names its engine", () => {
    expect(db.engine).toBe(name);
  });

  describe("calls", () => {
    it("fetch() returns all rows as objects", async () => {
      expect(await db.fetch("select x, x * 2 as twice from generate_series(1, 3) x")).toEqual([
        { x: 1, twice: 2 },
        { x: 2, twice: 4 },
        { x: 3, twice: 6 },
      ]);
    });

    it("fetchrow() returns the first row, or null", async () => {
      expect(await db.fetchrow("select $1::int as a, $2::text as b", [1, "two"])).toEqual({ a: 1, b: "two" });
      expect(await db.fetchrow("select * from authors")).toBeNull();
    });

    it("fetchval() returns the first value, or null", async () => {
      expect(await db.fetchval("select x from generate_series(5, 9) x")).toBe(5);
      expect(await db.fetchval("select null")).toBeNull();
      expect(await db.fetchval("select id from authors")).toBeNull();
    });

    it("fetchArrays() returns rows as lists, with the names of the columns", async () => {
      expect(await db.fetchArrays("select 1 as a, null as b, 'x' as a")).toEqual({
        columns: ["a", "b", "a"],
        rows: [[1, null, "x"]],
      });
    });

    it("fetchText() returns the text of PostgreSQL, not parsed", async () => {
      expect(await db.fetchText("select json_build_object('n', 12345678901234567890)")).toBe(
        '{"n" : 12345678901234567890}',
      );
      expect(await db.fetchText("select null::json")).toBeNull();
    });

    it("execute() returns the command and the number of rows", async () => {
      expect(await db.execute("insert into authors (name) values ('a'), ('b')")).toEqual({
        command: "INSERT",
        rowCount: 2,
      });
      expect(await db.execute("update authors set name = 'c'")).toEqual({ command: "UPDATE", rowCount: 2 });
      expect(await db.execute("create table other ()")).toEqual({ command: "CREATE TABLE", rowCount: 0 });
      expect(await db.execute("drop table other")).toEqual({ command: "DROP TABLE", rowCount: 0 });
    });

    it("script() runs several statements, all or none", async () => {
      await db.script("insert into authors (name) values ('a'); insert into authors (name) values ('b')");
      await expect(
        db.script("insert into authors (name) values ('c'); insert into nowhere values (1)"),
      ).rejects.toThrow(ProgrammingError);
      expect(await db.fetchval("select count(*) from authors")).toBe(2);
    });

    it("A column called __proto__ is an ordinary key of the row", async () => {
      const row = await db.fetchrow(`select '{"polluted": true}'::json as "__proto__"`);
      expect(Object.keys(row ?? {})).toEqual(["__proto__"]);
      expect((row as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it("A very long statement is accepted", async () => {
      const values = Array.from({ length: 5000 }, (_, i) => `($${i + 1}::int)`).join(", ");
      const params = Array.from({ length: 5000 }, (_, i) => i);
      expect(await db.fetchval(`select sum(x) from (values ${values}) v (x)`, params)).toBe(12497500);
    });

    it("A negative time limit of a statement is refused", async () => {
      await expect(db.fetch("select 1", [], { timeout: -1 })).rejects.toThrow("option 'timeout' in a statement");
    });

    it("A misspelt option of a statement is refused, and the statement does not run", async () => {
      const insert = "insert into authors (name) values ('a')";
      const options = { timout: 1 } as never;
      const message = "unknown option 'timout' in a statement; did you mean 'timeout'?";
      await expect(db.fetch(insert, [], options)).rejects.toThrow(message);
      await expect(db.execute(insert, [], options)).rejects.toThrow(message);
      await expect(db.transaction((tx) => tx.execute(insert, [], options))).rejects.toThrow(message);
      await expect(db.script(insert, options)).rejects.toThrow(message);
      expect(() => db.cursor("select 1", [], { bacth: 1 } as never)).toThrow(
        "unknown option 'bacth' in cursor(); did you mean 'batch'?",
      );
      expect(await db.fetchval("select count(*) from authors")).toBe(0);
    });

    it("An empty statement does nothing", async () => {
      expect(await db.fetch("")).toEqual([]);
      expect(await db.execute("-- nothing")).toEqual({ command: "", rowCount: 0 });
    });

    it("Many concurrent calls each get their own result", async () => {
      const all = await Promise.all(Array.from({ length: 300 }, (_, i) => db.fetchval("select $1::int", [i])));
      expect(all).toEqual(Array.from({ length: 300 }, (_, i) => i));
    });

    it("A call that fails among many does not affect the others", async () => {
      const all = await Promise.allSettled(
        Array.from({ length: 60 }, (_, i) => db.fetchval("select 100 / $1::int", [i % 3])),
      );
      expect(all.map(({ status }) => status)).toEqual(all.map((_, i) => (i % 3 === 0 ? "rejected" : "fulfilled")));
    });

    it("An invalid statement that is sent many times at once fails each time with the same error", async () => {
      const all = await Promise.all(
        Array.from({ length: 10 }, () => failure(db.fetch("select * from nowhere where id = $1", [1]))),
      );
      expect(all.map(({ sqlstate }) => sqlstate)).toEqual(all.map(() => "42P01"));
    });

    it("An error of the database is reported where the stacks of errors are no text", async () => {
      const { prepareStackTrace } = Error;
      Error.prepareStackTrace = (_error, frames) => frames;
      try {
        expect((await failure(db.fetch("select 1 / $1::int", [0]))).message).toBe("division by zero");
      } finally {
        Error.prepareStackTrace = prepareStackTrace;
      }
    });

    it("A statement still works after its table has changed", async () => {
      await db.script("create table shifting (a int); insert into shifting values (1)");
      expect(await db.fetch("select * from shifting where a = $1", [1])).toEqual([{ a: 1 }]);
      await db.script("alter table shifting add column b text default 'new'");
      expect(await db.fetch("select * from shifting where a = $1", [1])).toEqual([{ a: 1, b: "new" }]);
      await db.script("drop table shifting");
    });

    it("An error has the statement with the place of the mistake, and its stack shows it, but no parameters", async () => {
      const text = `select ${"'\u{1F600}' || ".repeat(30)}\n  $1::text\n  fro books`;
      const { message, statement, stack } = await failure(db.fetch(text, ["hunter2"]));
      expect(message).toBe('syntax error at or near "books"');
      expect(statement).toMatch(/^\.\.\..*\$1::text fro >>>books$/);
      expect(stack).toMatch(/^ProgrammingError: syntax error at or near "books"\n {4}in: .*fro >>>books\n {4}at /);
      expect(stack).not.toContain("hunter2");
      expect(await failure(db.fetch("select 1 where 1 = ?", [1]))).toMatchObject({
        message: "syntax error at end of input; placeholders are $1, $2 and so on, not ?",
        statement: "select 1 where 1 = ?>>>",
      });
      expect((await failure(db.fetch("select 1 / $1::int", [0]))).statement).toBe("select 1 / $1::int");
    });

    it("The stack of an error shows the line of the call", async () => {
      async function theCaller(): Promise<void> {
        await db.fetch("select * from nowhere");
      }
      expect((await failure(theCaller())).stack).toContain("theCaller");
    });
  });

  describe("the tagged template", () => {
    it("The tagged template makes a parameter of every value", async () => {
      const evil = "'; drop table authors; --";
      expect(await db.sql`select ${evil}::text as a, ${1}::int as b`).toEqual([{ a: evil, b: 1 }]);
      expect(await db.sql`select ${1}::int as a`.row()).toEqual({ a: 1 });
      expect(await db.sql`select ${2}::int`.val()).toBe(2);
      expect(await db.sql`insert into authors (name) values (${"a"})`.execute()).toMatchObject({ rowCount: 1 });
    });

    it("The tagged template accepts fragments, names and lists", async () => {
      await db.sql`insert into authors (name) values (${"a"}), (${"b"}), (${"c"})`;
      const condition = sql`name in (${sql.join(["a", "c"])})`;
      const rows =
        await db.sql`select ${sql.id("name")} from ${sql.id("public", "authors")} where ${condition} order by 1`;
      expect(rows).toEqual([{ name: "a" }, { name: "c" }]);
      expect(await db.fetchval(sql`select count(*) from authors where ${condition}`)).toBe(2);
    });
  });

  describe("values", () => {
    it.each([
      ["true", true],
      ["(-32768)::int2", -32768],
      ["2147483647", 2147483647],
      ["9007199254740991", 9007199254740991],
      ["9007199254740993", 9007199254740993n],
      ["(-9223372036854775808)::int8", -9223372036854775808n],
      ["1.5::float8", 1.5],
      ["'NaN'::float8", Number.NaN],
      ["'Infinity'::float8", Number.POSITIVE_INFINITY],
      ["12345678901234567890.12345", "12345678901234567890.12345"],
      ["'ünï☃𝄞'", "ünï☃𝄞"],
      ["date '2024-02-29'", "2024-02-29"],
      ["timestamptz '2024-02-29 12:34:56.789+02'", new Date("2024-02-29T10:34:56.789Z")],
      ["timestamp '2024-02-29 12:34:56.789123'", new Date("2024-02-29T12:34:56.789Z")],
      ["timestamp '0044-03-15 12:00:00 BC'", new Date(Date.UTC(-43, 2, 15, 12))],
      ["timestamp '12024-01-01 00:00:00'", new Date(Date.UTC(12024, 0, 1))],
      ["timestamptz 'infinity'", Number.POSITIVE_INFINITY],
      ["time '12:34:56'", "12:34:56"],
      ["interval '1 day 2 hours'", "1 day 02:00:00"],
      ["'7f9c24e8-3b12-4fef-91e0-5a1d2a6f3c11'::uuid", "7f9c24e8-3b12-4fef-91e0-5a1d2a6f3c11"],
      [`'{"a": [1, null, "x"]}'::jsonb`, { a: [1, null, "x"] }],
      ["'null'::json", null],
      ["'\\x00ff10'::bytea", Buffer.from([0, 255, 16])],
      ["array[1, null, 3]", [1, null, 3]],
      [
        "array[[1, 2], [3, 4]]",
        [
          [1, 2],
          [3, 4],
        ],
      ],
      [`array['a,b', 'c"d', 'e\\f', '', 'NULL', null, '{}']`, ["a,b", 'c"d', "e\\f", "", "NULL", null, "{}"]],
      ["'[0:1]={7,8}'::int[]", [7, 8]],
      ["'{}'::text[]", []],
      [`array['{"a": 1}'::jsonb]`, [{ a: 1 }]],
      ["array[date '2024-01-01']", ["2024-01-01"]],
      ["array[9007199254740993]", [9007199254740993n]],
      ["null::int", null],
    ])("The SQL value %s is read as %o", async (expression, expected) => {
      expect(await db.fetchval(`select ${expression}`)).toEqual(expected);
    });

    it.each([
      ["int", 5],
      ["bigint", 9223372036854775807n],
      ["float8", -0.1],
      ["numeric", "12345678901234567890.5"],
      ["bool", false],
      ["text", 'it\'s "quoted" \\ and 𝄞'],
      ["bytea", Buffer.from([0, 1, 254])],
      ["timestamptz", new Date("1969-12-31T23:59:59.999Z")],
      ["timestamp", new Date("2024-06-01T12:00:00.001Z")],
      ["timestamptz", new Date(Date.UTC(-43, 2, 15))],
      ["timestamptz", new Date(Date.UTC(12024, 0, 1))],
      ["date", "2024-02-29"],
      ["jsonb", { deep: [{ x: "☃" }] }],
      ["jsonb", [1, "two", null]],
      ["int[]", [1, null, 2]],
      ["text[]", ["a", 'b"\\', "", null, "NULL"]],
      ["int[]", [[1], [2]]],
      ["bytea[]", [Buffer.from([1]), Buffer.from([])]],
      ["jsonb[]", [{ a: 1 }, { b: [2] }]],
      ["timestamptz[]", [new Date(0)]],
      ["uuid", "7f9c24e8-3b12-4fef-91e0-5a1d2a6f3c11"],
      ["text", null],
    ])("A %s parameter is returned as it was sent: %o", async (type, value) => {
      expect(await db.fetchval(`select $1::${type}`, [value])).toEqual(value);
    });

    it("Typed arrays and array buffers are sent as bytea", async () => {
      expect(await db.fetchval("select $1::bytea", [new Uint8Array([1, 2, 3]).subarray(1)])).toEqual(
        Buffer.from([2, 3]),
      );
      expect(await db.fetchval("select $1::bytea", [new Uint8Array([9]).buffer])).toEqual(Buffer.from([9]));
    });

    it("json() sends JSON in place of text or an array", async () => {
      expect(await db.fetchval("select $1::jsonb", [json("text")])).toBe("text");
      expect(await db.fetchval("select $1::jsonb", [json(null)])).toBeNull();
      expect(await db.fetchval("select $1::text", [json([1])])).toBe("[1]");
    });

    it("An array parameter replaces a list of 70,000 values", async () => {
      const ids = Array.from({ length: 70_000 }, (_, i) => i);
      expect(await db.fetchval("select count(*) from unnest($1::int[])", [ids])).toBe(70_000);
      expect(await db.fetchval("select count(*) from authors where id = any($1)", [[]])).toBe(0);
    });
  });

  describe("the check of parameters before they are sent", () => {
    it.each([
      ["select $1::int", [undefined], ParameterTypeError, "parameter $1 is undefined; pass null for SQL null"],
      ["select $1::int", [1.5], ParameterTypeError, "parameter $1 must be an integer, not a number"],
      ["select $1::int", [true], ParameterTypeError, "parameter $1 must be an integer, not a boolean"],
      ["select $1::int", [{}], ParameterTypeError, "parameter $1 must be an integer, not an object (Object)"],
      ["select $1::int2", [40_000], ParameterRangeError, "parameter $1 is out of range for type int2"],
      ["select $1::int", [2 ** 31], ParameterRangeError, "parameter $1 is out of range for type int4"],
      ["select $1::int", ["3000000000"], ParameterRangeError, "parameter $1 is out of range for type int4"],
      ["select $1::int8", [2n ** 63n], ParameterRangeError, "parameter $1 is out of range for type int8"],
      ["select $1::int8", [2 ** 60], ParameterValueError, "a number does not hold exactly"],
      ["select $1::bool", [1], ParameterTypeError, "parameter $1 must be a boolean, not a number"],
      ["select $1::text", [["a"]], ParameterTypeError, "parameter $1 must be a string, not a list"],
      ["select $1::text", ["a\0b"], ParameterValueError, "parameter $1 contains U+0000"],
      ["select $1::text", ["a\ud800"], ParameterValueError, "half of a surrogate pair"],
      ["select $1::jsonb", [{ a: "\0" }], ParameterValueError, "parameter $1 contains U+0000"],
      ["select $1::jsonb", [{ "\ud800": 1 }], ParameterValueError, "parameter $1 contains half of a surrogate pair"],
      ["select $1::jsonb", [{ a: 1n }], ParameterTypeError, "parameter $1 cannot be written as JSON"],
      ["select $2::int, $1::int[]", [[1, "x", 2 ** 40], 1], ParameterRangeError, "parameter $1 is out of range"],
      ["select $1::int[]", [5], ParameterTypeError, "parameter $1 must be a list (int4[])"],
      ["select $1::timestamptz", [new Date(Number.NaN)], ParameterValueError, "parameter $1 is an invalid date"],
      ["select $1::timestamptz", [new Date(-8.64e15)], ParameterRangeError, "a date before 4713 BC"],
      ["select $1::timestamptz", [1], ParameterTypeError, "parameter $1 must be a Date or a string, not a number"],
      ["select $1::uuid", ["not-a-uuid"], ParameterValueError, "parameter $1 is not a valid UUID"],
      ["select $1::int", [() => 1], ParameterTypeError, "parameter $1 must be an integer, not a function"],
      ["select $1::text", [Symbol("s")], ParameterTypeError, "not a symbol"],
      ["select $1::text", [new Map()], ParameterTypeError, "not an object (Map)"],
      ["select $1::int", "5", ParameterTypeError, "the parameters must be a list"],
    ])("The statement %s is not sent with the parameters %o", async (statement, params, type, message) => {
      const error = await failure(db.fetch(statement, params as unknown[]));
      expect(error).toBeInstanceOf(type);
      expect(error.message).toContain(message);
      expect(error.sqlstate).toBeNull();
    });

    it("More parameters than the protocol can count are refused", async () => {
      const error = await failure(db.fetch("select 1", new Array(70_000).fill(1)));
      expect(error).toBeInstanceOf(ParameterRangeError);
      expect(error.message).toContain("at most 65535 parameters, not 70000");
    });

    it("Too few or too many parameters are a ProgrammingError", async () => {
      for (const params of [[], [1, 2], []]) {
        const error = await failure(db.fetch("select $1::int + 0", params));
        expect(error).toBeInstanceOf(ProgrammingError);
        expect(error.message).toBe(`the statement has 1 parameter, not ${params.length}`);
      }
    });

    it("A refused parameter neither ends a transaction nor harms the connection", async () => {
      await db.transaction(async (tx) => {
        await expect(tx.fetch("select $1::text", ["\0"])).rejects.toThrow(ParameterValueError);
        await tx.execute("insert into authors (name) values ('kept')");
      });
      expect(await db.fetchval("select name from authors")).toBe("kept");
    });
  });

  describe("errors", () => {
    it("A duplicate value is a UniqueViolation, with the column from the server's detail", async () => {
      await db.execute("insert into authors (name, email) values ('a', 'a@x')");
      const error = await failure(db.execute("insert into authors (name, email) values ('b', 'a@x')"));
      expect(error).toBeInstanceOf(UniqueViolation);
      expect(error).toBeInstanceOf(RuntimeError);
      expect(error).toMatchObject({
        name: "UniqueViolation",
        sqlstate: "23505",
        detail: "Key (email)=(a@x) already exists.",
        constraint: "authors_email_key",
        table: "authors",
        column: "email",
        schema: "public",
      });
      expect(error.message).toBe('duplicate key value violates unique constraint "authors_email_key"');
    });

    it("The UniqueViolation of a constraint over several columns names all of them", async () => {
      await db.script("insert into authors (name) values ('a'); insert into books (title, author_id) values ('t', 1)");
      const error = await failure(db.execute("insert into books (title, author_id) values ('t', 1)"));
      expect(error.column).toBe("title, author_id");
    });

    it("A null in a required column is a NotNullViolation", async () => {
      const error = await failure(db.execute("insert into authors (name) values (null)"));
      expect(error).toBeInstanceOf(NotNullViolation);
      expect(error).toMatchObject({ sqlstate: "23502", table: "authors", column: "name", constraint: null });
    });

    it("A reference to a missing row, and the removal of a referenced row, are a ForeignKeyViolation", async () => {
      const missing = await failure(db.execute("insert into books (title, author_id) values ('t', 99)"));
      expect(missing).toBeInstanceOf(ForeignKeyViolation);
      expect(missing).toMatchObject({
        sqlstate: "23503",
        table: "books",
        column: "author_id",
        constraint: "books_author_id_fkey",
      });
      await db.script("insert into authors (name) values ('a'); insert into books (title, author_id) values ('t', 1)");
      expect(await failure(db.execute("delete from authors"))).toBeInstanceOf(ForeignKeyViolation);
    });

    it("A failed check constraint is a CheckViolation, with the column from the constraint's name", async () => {
      await db.execute("insert into authors (name) values ('a')");
      const error = await failure(db.execute("insert into books (title, author_id, year) values ('t', 1, -5)"));
      expect(error).toBeInstanceOf(CheckViolation);
      expect(error).toMatchObject({ sqlstate: "23514", constraint: "books_year_check", column: "year" });
    });

    it("A failed exclusion constraint is an ExclusionViolation", async () => {
      await db.execute("insert into stays values (1, '[1,5)')");
      expect(await failure(db.execute("insert into stays values (1, '[2,3)')"))).toBeInstanceOf(ExclusionViolation);
    });

    it.each([
      ["select 1 / 0", DataError, "22012"],
      ["insert into books (title, author_id) values (repeat('x', 21), 1)", DataError, "22001"],
      ["select 'x'::int", DataError, "22P02"],
      ["selec 1", ProgrammingError, "42601"],
      ["select * from nowhere", ProgrammingError, "42P01"],
      ["select nothing from authors", ProgrammingError, "42703"],
      ["select 1; select 2", ProgrammingError, "42601"],
      ["do $$ begin raise exception 'mine' using errcode = '40001'; end $$", OperationalError, "40001"],
      ["do $$ begin raise exception 'mine' using errcode = '53100'; end $$", OperationalError, "53100"],
      ["do $$ begin raise exception 'mine'; end $$", ProgrammingError, "P0001"],
      ["do $$ begin raise exception 'mine' using errcode = 'ZZ999'; end $$", DatabaseError, "ZZ999"],
    ])("The statement %s fails with the error class of its SQLSTATE", async (statement, type, sqlstate) => {
      const error = await failure(db.execute(statement));
      expect(error.constructor).toBe(type);
      expect(error.sqlstate).toBe(sqlstate);
    });

    it("Errors show no value of a parameter in their message or when they are printed", async () => {
      const { inspect } = await import("node:util");
      await db.execute("insert into authors (name, email) values ('a', 'secret-1')");
      const all = await Promise.all([
        failure(db.execute("insert into authors (name, email) values ('a', $1)", ["secret-1"])),
        failure(db.fetch("select $1::text::int", ["secret-2"])),
        failure(db.fetch("select $1::int", ["secret-3"])),
        failure(db.fetch("select $1::uuid", ["secret-4"])),
        failure(db.fetch("select $1::text::date", ["secret-5"])),
      ]);
      for (const error of all) expect(inspect(error) + JSON.stringify(error)).not.toContain("secret");
      expect(all[1]?.detail).toContain("secret-2");
    });
  });

  describe("statements that would change a shared connection", () => {
    it.each([
      "begin",
      "START TRANSACTION",
      "commit",
      " rollback",
      "-- note\nsavepoint a",
      "/* note */ set search_path = public",
      "reset all",
      "listen x",
      "declare c cursor for select 1",
      "deallocate all",
      "copy authors from stdin",
      "select 1 \0",
    ])("The statement %j is refused on a shared connection", async (statement) => {
      expect(await failure(db.execute(statement))).toBeInstanceOf(ProgrammingError);
      expect(await db.fetchval("select 1")).toBe(1);
    });
  });

  describe("transactions", () => {
    const names = async (): Promise<unknown[]> =>
      (await db.fetch<{ name: string }>("select name from authors order by id")).map((row) => row.name);

    it("A transaction commits the changes and returns the result of its function", async () => {
      const result = await db.transaction(async (tx) => {
        await tx.execute("insert into authors (name) values ($1)", ["a"]);
        return tx.fetchval("select count(*) from authors");
      });
      expect(result).toBe(1);
      expect(await names()).toEqual(["a"]);
    });

    it("The property kind distinguishes transactions, sessions and the database", async () => {
      expect(db.kind).toBe("database");
      await db.transaction(async (tx) => {
        expect(tx.kind).toBe("transaction");
        expect(db.current.kind).toBe("transaction");
        await tx.transaction((inner) => expect(inner.kind).toBe("transaction"));
      });
      await db.session((session) => expect(session.kind).toBe("session"));
    });

    it("A transaction rolls back if its function throws, and rejects with that error", async () => {
      const own = new Error("own");
      await expect(
        db.transaction(async (tx) => {
          await tx.execute("insert into authors (name) values ('a')");
          throw own;
        }),
      ).rejects.toBe(own);
      expect(await names()).toEqual([]);
    });

    it("Nested transactions are savepoints", async () => {
      await db.transaction(async (tx) => {
        await tx.execute("insert into authors (name) values ('outer')");
        await expect(
          tx.transaction(async (inner) => {
            expect(inner.depth).toBe(1);
            await inner.execute("insert into authors (name) values ('lost')");
            await inner.execute("insert into nowhere values (1)");
          }),
        ).rejects.toThrow(ProgrammingError);
        await tx.transaction(async (inner) => {
          await inner.transaction((innermost) => innermost.execute("insert into authors (name) values ('deep')"));
        });
      });
      expect(await names()).toEqual(["outer", "deep"]);
    });

    it("Concurrent transactions inside another one wait for each other", async () => {
      await db.transaction(async (tx) => {
        const results = await Promise.allSettled([
          tx.transaction(async (inner) => {
            await inner.execute("insert into authors (name) values ('first')");
            throw new Error("undo the first");
          }),
          tx.transaction((inner) => inner.execute("insert into authors (name) values ('second')")),
        ]);
        expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
      });
      expect(await names()).toEqual(["second"]);
    });

    it("An inner transaction that is opened through the outer one does not wait for itself", async () => {
      await db.transaction((tx) =>
        tx.transaction(() => tx.transaction((inner) => inner.execute("insert into authors (name) values ('a')"))),
      );
      expect(await names()).toEqual(["a"]);
    });

    it("A transaction rejects if an error inside was caught and nothing could be committed", async () => {
      const error = await failure(
        db.transaction(async (tx) => {
          await tx.execute("insert into authors (name) values ('a')");
          await tx.execute("insert into nowhere values (1)").catch(() => {});
        }),
      );
      expect(error.sqlstate).toBe("25P02");
      expect(await names()).toEqual([]);
    });

    it("A transaction includes statements that its function did not await", async () => {
      await db.transaction((tx) => {
        void tx.execute("insert into authors (name) values ($1)", ["unwaited"]);
      });
      expect(await names()).toEqual(["unwaited"]);
    });

    it("A transaction keeps the order of statements that are sent together", async () => {
      await db.transaction(async (tx) => {
        await Promise.all([
          tx.execute("insert into authors (id, name) values ($1, $2)", [7, "parent"]),
          tx.execute("insert into books (title, author_id) values ('child', 7)"),
          tx.execute("update authors set name = $1 where id = $2", ["changed", 7]),
        ]);
      });
      expect(await names()).toEqual(["changed"]);
    });

    it("A transaction that has ended accepts no more statements", async () => {
      let kept: Transaction | undefined;
      await db.transaction((tx) => {
        kept = tx;
      });
      expect((await failure(kept!.fetch("select 1"))).message).toBe("the transaction has ended");
      const { signal } = new AbortController();
      expect((await failure(kept!.fetch("select 1", [], { signal }))).message).toBe("the transaction has ended");
      expect((await failure(kept!.script("select 1", { signal }))).message).toBe("the transaction has ended");
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });

    it("A transaction cannot be ended by a statement", async () => {
      await db.transaction(async (tx) => {
        for (const statement of ["commit", "rollback", "savepoint x", "set search_path = x"]) {
          expect(await failure(tx.execute(statement))).toBeInstanceOf(ProgrammingError);
        }
        await tx.execute("set local statement_timeout = 1000");
      });
    });

    it("A transaction passes isolation, read only and deferrable to the server", async () => {
      await db.transaction(
        async (tx) => {
          expect(await tx.fetchval("show transaction_isolation")).toBe("serializable");
          expect(await tx.fetchval("show transaction_read_only")).toBe("on");
          expect(await tx.fetchval("show transaction_deferrable")).toBe("on");
        },
        { isolation: "serializable", readOnly: true, deferrable: true },
      );
      await expect(
        db.transaction((tx) => tx.execute("insert into authors (name) values ('a')"), { readOnly: true }),
      ).rejects.toMatchObject({ sqlstate: "25006" });
    });

    it("A transaction refuses unknown options, and an inner one those of the outermost", async () => {
      await expect(db.transaction(() => 1, { isolaton: "serializable" } as object)).rejects.toThrow(
        "unknown option 'isolaton' in transaction(); did you mean 'isolation'?",
      );
      await expect(db.transaction(() => 1, { isolation: "none" } as object)).rejects.toThrow("one of");
      await db.transaction(async (tx) => {
        await expect(tx.transaction(() => 1, { retry: 1 })).rejects.toThrow("for the outermost transaction only");
      });
    });

    it("A transaction runs again after a serialization failure, as often as its option allows", async () => {
      let runs = 0;
      const run = (failures: number, retry: number): Promise<unknown> => {
        runs = 0;
        return db.transaction(
          async (tx) => {
            await tx.execute("insert into authors (name) values ('a')");
            if (++runs <= failures) await tx.execute("do $$ begin raise sqlstate '40001'; end $$");
            return runs;
          },
          { retry },
        );
      };
      expect(await run(2, 3)).toBe(3);
      expect(await names()).toEqual(["a"]);
      await expect(run(2, 1)).rejects.toMatchObject({ sqlstate: "40001" });
      expect(runs).toBe(2);
      await expect(run(1, 0)).rejects.toMatchObject({ sqlstate: "40001" });
    });

    it("A transaction does not run again after any other error", async () => {
      let runs = 0;
      await expect(
        db.transaction(
          () => {
            runs++;
            throw new Error("own");
          },
          { retry: 5 },
        ),
      ).rejects.toThrow("own");
      expect(runs).toBe(1);
    });

    it("Commit hooks run only after the outermost commit, and never for a rolled back transaction", async () => {
      const log: string[] = [];
      await db.transaction(async (tx) => {
        tx.onCommit(() => log.push("outer"));
        await tx.transaction((inner) => inner.onCommit(() => log.push("inner")));
        await tx
          .transaction((inner) => {
            inner.onCommit(() => log.push("undone"));
            throw new Error("undo");
          })
          .catch(() => {});
        log.push("body");
      });
      await db
        .transaction((tx) => {
          tx.onCommit(() => log.push("never"));
          throw new Error("undo");
        })
        .catch(() => {});
      expect(log).toEqual(["body", "outer", "inner"]);
    });

    it("A transaction is `current` only for the code that runs in it", async () => {
      expect(db.current).toBe(db);
      await db.transaction(async (tx) => {
        expect(db.current).toBe(tx);
        await tx.transaction(async (inner) => expect(db.current).toBe(inner));
        expect(db.current).toBe(tx);
        await db.current.execute("insert into authors (name) values ('within')");
      });
      expect(db.current).toBe(db);
      expect(await names()).toEqual(["within"]);
    });

    it("A transaction ends at once if its signal is aborted, even if its function continues", async () => {
      const controller = new AbortController();
      const error = await failure(
        db.transaction(
          async (tx) => {
            await tx.execute("insert into authors (name) values ('a')");
            controller.abort(new Error("gone"));
            await new Promise(() => {});
          },
          { signal: controller.signal },
        ),
      );
      expect(error).toMatchObject({ name: "OperationalError", sqlstate: "57014" });
      expect(await names()).toEqual([]);
    });

    it("The rest of the function of an aborted transaction writes nothing, in savepoints neither", async () => {
      const controller = new AbortController();
      let resume!: () => void;
      const aborted = new Promise<void>((resolve) => {
        resume = resolve;
      });
      let ended!: Promise<unknown[]>;
      const run = db.transaction(
        (tx) => {
          const rest = async (): Promise<void> => {
            await aborted;
            await db.current.execute("insert into authors (name) values ('outside')");
          };
          const inner = tx.transaction(async (savepoint) => {
            await savepoint.execute("insert into authors (name) values ('inside')");
            controller.abort(new Error("gone"));
            await aborted;
            await savepoint.execute("insert into authors (name) values ('late')");
          });
          const deeper = tx.transaction((savepoint) => savepoint.execute("insert into authors (name) values ('next')"));
          ended = Promise.all(
            [rest(), inner, deeper].map((each) =>
              each.then(
                () => null,
                (error: Error) => error.message,
              ),
            ),
          );
          return ended;
        },
        { signal: controller.signal },
      );
      expect(await failure(run)).toMatchObject({ sqlstate: "57014" });
      // The connection belongs to another transaction while the function of the first one ends.
      await db.transaction(async (other) => {
        await other.execute("insert into authors (name) values ('other')");
        resume();
        expect(await ended).toEqual(Array(3).fill(expect.stringMatching(/has ended|was cancelled/)));
        await other.execute("insert into authors (name) values ('another')");
      });
      expect(await names()).toEqual(["other", "another"]);
    });

    it("A transaction does not begin if its signal has already been aborted", async () => {
      await expect(db.transaction(() => 1, { signal: AbortSignal.abort() })).rejects.toThrow(OperationalError);
      await expect(db.fetch("select 1", [], { signal: AbortSignal.abort() })).rejects.toThrow(OperationalError);
    });
  });

  describe("cursors", () => {
    const numbers = "select x from generate_series(1, $1::int) x";

    it("A cursor returns all rows, in batches", async () => {
      const seen: unknown[] = [];
      for await (const row of db.cursor<{ x: number }>(numbers, [25], { batch: 10 })) seen.push(row.x);
      expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
    });

    it("A cursor releases its connection if the loop is left", async () => {
      for await (const _ of db.cursor(numbers, [1000])) break;
      expect(db.stats().inUse).toBe(0);
      expect(await db.fetchval("select 1")).toBe(1);
    });

    it("A cursor releases its connection after an error", async () => {
      const read = async (): Promise<void> => {
        for await (const _ of db.cursor("select 10 / (5 - x) from generate_series(1, 9) x", [], { batch: 2 }));
      };
      expect(await failure(read())).toBeInstanceOf(DataError);
      expect(await failure(db.cursor("select * from nowhere").read(1))).toBeInstanceOf(ProgrammingError);
      expect(db.stats().inUse).toBe(0);
    });

    it("A cursor can be read in part and then closed", async () => {
      const cursor = db.cursor<{ x: number }>(numbers, [10]);
      expect(await cursor.read(2)).toEqual([{ x: 1 }, { x: 2 }]);
      expect(await cursor.next()).toEqual({ done: false, value: { x: 3 } });
      expect((await cursor.read(3)).map(({ x }) => x)).toEqual([4, 5, 6]);
      await cursor.close();
      expect(await cursor.read(3)).toEqual([]);
    });

    it("Several cursors can be open at once in one transaction", async () => {
      await db.transaction(async (tx) => {
        await tx.execute("insert into authors (name) values ('a'), ('b')");
        const outer = tx.cursor<{ name: string }>("select name from authors order by 1", [], { batch: 1 });
        for await (const { name } of outer) {
          expect(await tx.cursor(sql`select ${name} as n`).read(5)).toEqual([{ n: name }]);
        }
      });
    });

    it("A cursor refuses a batch size that is not a number of rows", () => {
      expect(() => db.cursor("select 1", [], { batch: 0 })).toThrow("option 'batch' in cursor()");
    });
  });

  describe("sessions", () => {
    it("The settings of a session are not visible outside it", async () => {
      await db.session(async (session) => {
        await session.execute("set application_name = 'mine'");
        await session.execute("create temporary table scratch (a int)");
        await session.transaction((tx) => tx.execute("insert into scratch values (1)"));
        expect(await session.fetchval("select count(*) from scratch")).toBe(1);
        expect(await session.fetchval("show application_name")).toBe("mine");
      });
      expect(await db.fetchval("show application_name")).not.toBe("mine");
      expect(await failure(db.fetch("select * from scratch"))).toBeInstanceOf(ProgrammingError);
    });

    it("The signal of a session ends its statements", async () => {
      const controller = new AbortController();
      const session = db.session(
        async (own) => {
          expect(await own.fetchval("select 1")).toBe(1);
          controller.abort();
          return own.fetchval("select 2");
        },
        { signal: controller.signal },
      );
      await expect(session).rejects.toThrow("the statement was cancelled");
      expect(await db.fetchval("select 3")).toBe(3);
    });

    it("A transaction that a session or a script leaves open is rolled back", async () => {
      await expect(
        db.session(async (session) => {
          await session.execute("begin");
          await session.execute("insert into authors (name) values ('left')");
          throw new Error("left open");
        }),
      ).rejects.toThrow("left open");
      expect(await db.fetchval("select count(*) from authors")).toBe(0);
      await db.script("begin; insert into authors (name) values ('left')");
      expect(await db.fetchval("select count(*) from authors")).toBe(0);
      expect(db.stats().inUse).toBe(0);
    });
  });

  describe("notifications", () => {
    it("Notifications reach all listeners until they are closed", async () => {
      const seen: string[] = [];
      let arrived: (() => void) | undefined;
      const subscription = await db.listen('odd "channel"', (payload, { channel }) => {
        seen.push(`${channel}: ${payload}`);
        arrived?.();
      });
      const arrival = new Promise<void>((resolve) => (arrived = resolve));
      await db.execute("select pg_notify($1, $2)", ['odd "channel"', "hello"]);
      await arrival;
      await subscription.close();
      await db.execute("select pg_notify($1, 'late')", ['odd "channel"']);
      await db.ping();
      expect(seen).toEqual(['odd "channel": hello']);
    });

    it("Closing one of two subscriptions to a channel leaves the other one, also if it is closed twice", async () => {
      const seen: string[] = [];
      const first = await db.listen("shared", () => {});
      const second = await db.listen("shared", (payload) => seen.push(payload));
      await first.close();
      await first.close();
      await db.execute("select pg_notify('shared', 'still here')");
      await vi.waitFor(() => expect(seen).toEqual(["still here"]));
      await second.close();
    });

    it("A channel name that PostgreSQL would shorten is refused", async () => {
      await expect(db.listen("x".repeat(64), () => {})).rejects.toThrow("1 to 63 bytes");
      await expect(db.listen("", () => {})).rejects.toThrow("1 to 63 bytes");
    });
  });

  it("A database reports the use of its connections", async () => {
    await db.transaction(async () => {
      expect(db.stats().inUse).toBe(1);
    });
    const { total, idle, inUse, waiting } = db.stats();
    expect({ inUse, waiting, all: idle === total }).toEqual({ inUse: 0, waiting: 0, all: true });
  });

  it("A closed database refuses calls, and can be closed twice", async () => {
    const { url, drop: dropSecond } = await make();
    const second = await openDatabase(url);
    await second.close();
    await second.close();
    expect((await failure(second.fetch("select 1"))).message).toBe("the database has been closed");
    expect(await failure(second.transaction(() => 1))).toBeInstanceOf(OperationalError);
    await dropSecond();
  });
});
