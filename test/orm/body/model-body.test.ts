import { App } from "stoa";
import { field, Model, partial } from "stoa/orm";
import { describe, expect, it } from "vitest";
import type { Issue } from "../../../src/validation/issues.js";
import { Author, Book, Sample, sample } from "./models.js";

interface Answer {
  readonly status: number;
  readonly value: Record<string, unknown>;
  readonly detail: Issue[];
}

const show = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);

/** Sends a body to a route of a model; bigints come back as `1n`. */
async function send(body: unknown, schema: typeof Book | ReturnType<typeof partial> = Book, type = "application/json") {
  const app = new App();
  app.post("/", { body: schema as typeof Book }, (_request, injected) =>
    JSON.parse(JSON.stringify(injected.body, show)),
  );
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await app.request("/", {
    method: "POST",
    body: bytes as string,
    headers: { "content-type": type },
  });
  const value = (await response.json()) as Record<string, unknown>;
  return { status: response.status, value, detail: value["detail"] } as Answer;
}

const book = { title: "Emma", author: 1 };
const issue = (field: string | number, type: string, msg: string): Issue => ({ loc: [field], msg, type });
const one = async (key: string, value: unknown, model: unknown = Sample): Promise<unknown> => {
  const { status, detail } = await send({ ...(model === Sample ? sample : book), [key]: value }, model as typeof Book);
  return status === 400 && detail.length === 1 ? detail[0] : { status, detail };
};
const accepted = async (key: string, value: unknown): Promise<unknown> => {
  const { status, value: body } = await send({ ...sample, [key]: value }, Sample as never);
  return status === 200 ? body[key] : { status, body };
};

describe("body: Model", () => {
  it("The handler gets the values of the body by the properties of the model", async () => {
    expect(await send({ ...book, year: "1815" })).toMatchObject({
      status: 200,
      value: { title: "Emma", authorId: 1, year: 1815 },
    });
  });

  it("Every kind of column gives the handler its own type of value", async () => {
    expect((await send(sample, Sample as never)).value).toEqual({
      ...sample,
      big: "9223372036854775807n",
      moment: "2024-01-31T12:34:56.789Z",
      span: "P1DT7200S",
      raw: { 0: 104, 1: 105 },
      counts: ["1n", "2n"],
    });
  });

  it("Unknown keys, and those of fields that clients cannot write, are ignored", async () => {
    const sent = {
      ...book,
      id: "x",
      isbn: 5,
      label: [],
      createdAt: "never",
      updatedAt: {},
      deletedAt: 1,
      unknown: "\u0000",
      toString: 1,
    };
    expect((await send(sent)).value).toEqual({ title: "Emma", authorId: 1 });
  });

  it("All errors of a body are reported in the order of the fields, with exactly loc, msg and type", async () => {
    const { status, value } = await send({ year: "x", stock: null, editor: true, title: 5 });
    expect([status, value]).toEqual([
      400,
      {
        detail: [
          issue("title", "string_type", "Input should be a valid string"),
          issue("author", "missing", "Field required"),
          issue("year", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
          issue("stock", "int_type", "Input should be a valid integer"),
        ],
      },
    ]);
  });

  it("Errors of a body never repeat the sent values", async () => {
    const secret = "hunter2-secret";
    const wrong = Object.fromEntries(
      Object.keys(sample).map((key) => [key, key === "code" ? secret : { [secret]: secret }]),
    );
    const { status, value } = await send({ ...wrong, [secret]: 1 }, Sample as never);
    expect(status).toBe(400);
    expect(JSON.stringify(value)).not.toContain(secret);
  });

  describe("foreign keys", () => {
    it("A foreign key can be sent under its field, its property or its column", async () => {
      for (const key of ["author", "authorId", "author_id"]) {
        expect((await send({ title: "Emma", [key]: "7" })).value).toEqual({ title: "Emma", authorId: 7 });
      }
    });

    it("An error of a foreign key is reported under the key that was sent", async () => {
      const bad = issue(
        "author",
        "int_parsing",
        "Input should be a valid integer, unable to parse string as an integer",
      );
      for (const key of ["author", "authorId", "author_id"]) {
        expect((await send({ title: "Emma", [key]: "x" })).detail).toEqual([{ ...bad, loc: [key] }]);
      }
    });

    it("A missing foreign key is reported under its field", async () => {
      expect((await send({ title: "Emma" })).detail).toEqual([issue("author", "missing", "Field required")]);
    });

    it("A foreign key that is sent twice is read from its field", async () => {
      expect((await send({ title: "Emma", author_id: "x", author: 3 })).value).toEqual({ title: "Emma", authorId: 3 });
    });

    it("A foreign key can be null if its relation can", async () => {
      expect((await send({ ...book, editor: null })).value).toMatchObject({ editorId: null });
      expect((await send({ ...book, author_id: null, author: undefined })).detail).toEqual([
        issue("author_id", "int_type", "Input should be a valid integer"),
      ]);
    });

    it("A foreign key is checked by the type of the key that it refers to", async () => {
      const Country = class Country extends Model("body_countries", {
        code: field.char({ maxLength: 2, primaryKey: true }),
      }) {};
      const City = class City extends Model("body_cities", {
        id: field.auto(),
        country: field.foreignKey(() => Country),
      }) {};
      expect((await send({ country: "deu" }, City as never)).detail).toEqual([
        issue("country", "string_too_long", "String should have at most 2 characters"),
      ]);
    });
  });

  describe("fields", () => {
    it("Required fields that are absent are reported as missing", async () => {
      const { detail } = await send({}, Sample as never);
      expect(detail).toEqual(Object.keys(sample).map((key) => issue(key, "missing", "Field required")));
    });

    it("A field that has a default or accepts null can be absent", async () => {
      expect((await send(book)).value).toEqual({ title: "Emma", authorId: 1 });
    });

    it.each([
      ["small", "int_type", "Input should be a valid integer"],
      ["whole", "int_type", "Input should be a valid integer"],
      ["big", "int_type", "Input should be a valid integer"],
      ["ratio", "float_type", "Input should be a valid number"],
      ["price", "decimal_type", "Decimal input should be an integer, float, string or Decimal object"],
      ["on", "bool_type", "Input should be a valid boolean"],
      ["code", "string_type", "Input should be a valid string"],
      ["text", "string_type", "Input should be a valid string"],
      ["key", "uuid_type", "UUID input should be a string, bytes or UUID object"],
      ["data", "value_error", "Input should not be null"],
      ["moment", "datetime_type", "Input should be a valid datetime"],
      ["clock", "datetime_type", "Input should be a valid datetime"],
      ["day", "date_type", "Input should be a valid date"],
      ["time", "time_type", "Input should be a valid time"],
      ["zoned", "time_type", "Input should be a valid time"],
      ["span", "time_delta_type", "Input should be a valid duration"],
      ["raw", "bytes_type", "Input should be a valid bytes"],
      ["tags", "list_type", "Input should be a valid array"],
      ["status", "enum", "Input should be 'draft' or 'published'"],
      ["path", "value_error", "Input should not be null"],
    ])("A field that is not null refuses null with its own error: %s", async (key, type, msg) => {
      expect(await one(key, null)).toEqual(issue(key, type, msg));
    });

    it.each([
      ["whole", [], "int_type", "Input should be a valid integer"],
      ["whole", "1.5", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"],
      ["whole", 1.5, "int_from_float", "Input should be a valid integer, got a number with a fractional part"],
      ["small", 32768, "less_than_equal", "Input should be less than or equal to 32767"],
      ["small", -32769, "greater_than_equal", "Input should be greater than or equal to -32768"],
      ["whole", 2147483648, "less_than_equal", "Input should be less than or equal to 2147483647"],
      ["whole", "-2147483649", "greater_than_equal", "Input should be greater than or equal to -2147483648"],
      ["big", "9223372036854775808", "less_than_equal", "Input should be less than or equal to 9223372036854775807"],
      ["ratio", {}, "float_type", "Input should be a valid number"],
      ["ratio", "x", "float_parsing", "Input should be a valid number, unable to parse string as a number"],
      ["on", [], "bool_type", "Input should be a valid boolean"],
      ["on", "perhaps", "bool_parsing", "Input should be a valid boolean, unable to interpret input"],
      ["text", 5, "string_type", "Input should be a valid string"],
      ["code", "abcd", "string_too_long", "String should have at most 3 characters"],
      ["text", "a\u0000b", "string_null_byte", "String should not contain null characters (U+0000)"],
      ["data", { a: ["x\u0000"] }, "string_null_byte", "String should not contain null characters (U+0000)"],
      ["data", { a: { "k\u0000": 1 } }, "string_null_byte", "String should not contain null characters (U+0000)"],
      ["data", "\u0000", "string_null_byte", "String should not contain null characters (U+0000)"],
      ["path", "\u0000", "string_null_byte", "String should not contain null characters (U+0000)"],
      ["moment", true, "datetime_type", "Input should be a valid datetime"],
      ["moment", "soon", "datetime_parsing", "Input should be a valid datetime, input is too short"],
      ["path", "No Path", "value_error", "Input should be a valid value"],
      ["clock", "2024-01-31T12:34:56Z", "timezone_naive", "Input should not have timezone info"],
      ["time", "12:34:56Z", "timezone_naive", "Input should not have timezone info"],
      ["price", "1.234", "decimal_max_places", "Decimal input should have no more than 2 decimal places"],
      ["grid", [[1], [2, 3]], "value_error", "Input should have lists of the same length"],
    ])("A wrong value gets the error of the contract's table: %s %j", async (key, value, type, msg) => {
      expect(await one(key, value)).toEqual(issue(key, type, msg));
    });

    it("Lengths count characters, not bytes or code units, and the message uses the right plural", async () => {
      expect(await accepted("code", "😀é漢")).toBe("😀é漢");
      expect(await one("code", "\uffff".repeat(4))).toMatchObject({ type: "string_too_long" });
      expect(await one("code", "😀é漢x")).toEqual(
        issue("code", "string_too_long", "String should have at most 3 characters"),
      );
      const Flag = class Flag extends Model("body_flags", { id: field.auto(), f: field.char({ maxLength: 1 }) }) {};
      expect((await send({ f: "ab" }, Flag as never)).detail).toEqual([
        issue("f", "string_too_long", "String should have at most 1 character"),
      ]);
    });

    it("An escaped backslash before u0000 is accepted as text", async () => {
      expect(await accepted("text", "\\u0000")).toBe("\\u0000");
      expect(await accepted("data", { "\\u0000": "\\u0000" })).toEqual({ "\\u0000": "\\u0000" });
    });

    it("Errors in a list name the positions of the wrong items", async () => {
      const { detail } = await send({ ...sample, tags: ["a", 5, null], grid: [[1], ["x"]] }, Sample as never);
      expect(detail.map(({ loc, type }) => [...loc, type])).toEqual([
        ["tags", 1, "string_type"],
        ["tags", 2, "string_type"],
        ["grid", 1, 0, "int_parsing"],
      ]);
    });

    it("The number of errors of a body is bounded", async () => {
      const { detail } = await send({ ...sample, tags: Array(5000).fill(1), status: "x" }, Sample as never);
      expect(detail).toHaveLength(1000);
    });
  });

  describe("lax coercion", () => {
    it.each([
      ["whole", " 1_000 ", 1000],
      ["whole", "12.00", 12],
      ["whole", 12.0, 12],
      ["on", "true", true],
      ["on", "Off", false],
      ["on", 1, true],
      ["ratio", "1e3", 1000],
      ["moment", 1700000000, "2023-11-14T22:13:20.000Z"],
      ["moment", "1700000000123", "2023-11-14T22:13:20.123Z"],
      ["moment", "2024-01-31", "2024-01-31T00:00:00.000Z"],
      ["moment", "2024-01-31T12:00", "2024-01-31T12:00:00.000Z"],
      ["clock", 1700000000.5, "2023-11-14T22:13:20.500000"],
      ["day", "2024-01-31T00:00:00", "2024-01-31"],
      ["time", 3661, "01:01:01"],
      ["zoned", "12:00", "12:00:00+00:00"],
      ["span", 90, "PT90S"],
      ["span", "P1M-2DT-3H", "P1M-2DT-10800S"],
      ["span", "-P1Y2M", "P-1Y-2M"],
      ["price", 12.5, "12.5"],
      ["price", "1e3", "1000"],
      ["key", "{6BA7B810-9DAD-11D1-80B4-00C04FD430C8}", sample.key],
    ])("The column %s accepts %j", async (key, value, expected) => {
      expect(await accepted(key, value)).toEqual(expected);
    });
  });

  describe("numbers", () => {
    const withNumber = (key: string, number: string): string =>
      JSON.stringify({ ...sample, [key]: "@" }).replace('"@"', number);

    it.each([
      ["9007199254740993", "9007199254740993n"],
      ["-9007199254740993", "-9007199254740993n"],
      ["9007199254740993.0", "9007199254740993n"],
      ["9223372036854775807", "9223372036854775807n"],
      ["-9223372036854775808", "-9223372036854775808n"],
      ["9.22337203685477e18", "9223372036854770000n"],
      ["922337203685477580.7e1", "9223372036854775807n"],
      ["-0", "0n"],
    ])("A number in a column of 64 bits is exact: %s", async (number, expected) => {
      expect((await send(withNumber("big", number), Sample as never)).value["big"]).toBe(expected);
      expect((await send(withNumber("counts", `[${number}]`), Sample as never)).value["counts"]).toEqual([expected]);
    });

    it.each([
      ["9223372036854775808", "less_than_equal"],
      ["-9223372036854775809", "greater_than_equal"],
      ["9007199254740992.5", "int_from_float"],
      ["1e999", "less_than_equal"],
      ["-1e999", "greater_than_equal"],
      ["9".repeat(100_000), "less_than_equal"],
    ])("A number that does not fit is refused, never rounded", async (number, type) => {
      expect((await send(withNumber("big", number), Sample as never)).detail).toMatchObject([{ loc: ["big"], type }]);
    });

    it("A number in a decimal column is exact", async () => {
      const Free = class Free extends Model("body_free", { id: field.auto(), d: field.decimal() }) {};
      for (const [sent, expected] of [
        ["12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890"],
        ["0.1000000000000000055", "0.1000000000000000055"],
        ['"1e-7"', "0.0000001"],
        ['"1e131071"', "1e131071"],
      ]) {
        expect((await send(`{"d":${sent}}`, Free as never)).value).toEqual({ d: expected });
      }
      expect((await send('{"d":"1e131072"}', Free as never)).detail).toMatchObject([{ type: "decimal_whole_digits" }]);
      expect((await send('{"d":"1e-99999999999999999999"}', Free as never)).detail).toMatchObject([
        { type: "decimal_max_places" },
      ]);
    });

    it("A number too large for a double is refused in a stored field, and ignored in an unknown one", async () => {
      const finite = { msg: "Input should be a finite number", type: "finite_number" };
      expect((await send(withNumber("ratio", "1e999"), Sample as never)).detail).toEqual([
        { loc: ["ratio"], ...finite },
      ]);
      expect((await send(withNumber("data", '{"a":[-1e999]}'), Sample as never)).detail).toEqual([
        { loc: ["data"], ...finite },
      ]);
      expect((await send('{"title":"Emma","author":1,"other":1e999}')).status).toBe(200);
    });

    it("A number of a million digits is refused", async () => {
      for (const key of ["whole", "big", "ratio", "price"]) {
        const { status } = await send(withNumber(key, "9".repeat(1_000_000)), Sample as never);
        expect(status).toBe(400);
        expect((await send(withNumber(key, `"${"9".repeat(1_000_000)}x"`), Sample as never)).status).toBe(400);
      }
    });
  });

  describe("the whole body", () => {
    const invalid = [issue("body", "value_error.json", "Invalid JSON body")];
    const bytes = (...parts: (string | number)[]): Uint8Array =>
      Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([part]))));

    it.each([
      ["nothing", ""],
      ["white space", " \n"],
      ["half an object", '{"title":'],
      ["trailing data", '{"title":"Emma","author":1} x'],
      ["two documents", '{"title":"Emma","author":1}{}'],
      ["a trailing comma", '{"title":"Emma","author":1,}'],
      ["single quotes", "{'title':'Emma'}"],
      ["NaN", '{"title":"Emma","author":NaN}'],
      ["a leading zero", '{"title":"Emma","author":01}'],
      ["a raw control character", '{"title":"E\u0001","author":1}'],
      ["a byte order mark", '\ufeff{"title":"Emma","author":1}'],
      ["half a surrogate pair", '{"title":"\\ud800","author":1}'],
      ["half a surrogate pair in a key", '{"title":"Emma","author":1,"\\uDC00":1}'],
      ["a key that reaches the prototype", '{"title":"Emma","author":1,"__proto__":{"isbn":"1"}}'],
      ["the same, escaped and deeper", '{"title":"Emma","author":1,"x":[{"\\u005f_proto__":1}]}'],
      ["129 levels", `{"title":"Emma","author":1,"x":${"[".repeat(128)}${"]".repeat(128)}}`],
    ])("A body of %s is refused as invalid JSON", async (_, body) => {
      const { status, detail } = await send(body);
      expect([status, detail]).toEqual([400, invalid]);
    });

    it.each([
      ["a lone byte", bytes('{"title":"', 0xff, '","author":1}')],
      ["an overlong form", bytes('{"title":"', 0xc0, 0xaf, '","author":1}')],
      ["an encoded surrogate", bytes('{"title":"', 0xed, 0xa0, 0x80, '","author":1}')],
      ["a truncated character", bytes('{"title":"', 0xe2, 0x82, '","author":1}')],
    ])("A body with %s in place of UTF-8 is refused as invalid JSON", async (_, body) => {
      expect((await send(body)).detail).toEqual(invalid);
    });

    it("A body of 128 levels is read, and brackets in strings are not levels", async () => {
      expect((await send(`{"title":"Emma","author":1,"x":${"[".repeat(127)}${"]".repeat(127)}}`)).status).toBe(200);
      expect((await send({ ...book, title: "[".repeat(200) })).status).toBe(200);
    });

    it("The last value of a repeated key is used", async () => {
      expect((await send('{"title":"Emma","author":1,"author":2}')).value).toEqual({ title: "Emma", authorId: 2 });
      const twice = JSON.stringify(sample).replace('"big":', '"big":1,"big":');
      expect((await send(twice, Sample as never)).value["big"]).toBe("9223372036854775807n");
    });

    it.each(["[]", "null", "1", '"x"', "true", "[{}]", '["\\u0000"]'])(
      "A body that is not an object is refused: %s",
      async (body) => {
        const { status, value } = await send(body);
        expect([status, value]).toEqual([
          400,
          { detail: [issue("body", "model_type", "Input should be a valid dictionary or instance of Book")] },
        ]);
      },
    );

    it("A body of another content type is refused with 415", async () => {
      for (const type of ["text/plain", "application/json garbage", "application/x-www-form-urlencoded"]) {
        expect((await send(book, Book, type)).status).toBe(415);
      }
      expect((await send(book, Book, "application/json; charset=utf-8")).status).toBe(200);
    });
  });

  describe("partial", () => {
    it("A partial body can have any of the fields, or none", async () => {
      expect((await send({ year: null }, partial(Book))).value).toEqual({ year: null });
      expect((await send({}, partial(Book))).value).toEqual({});
    });

    it("The fields of a partial body are checked as strictly as those of a whole body", async () => {
      expect((await send({ title: null, author_id: "x", id: 5 }, partial(Book))).detail).toEqual([
        issue("title", "string_type", "Input should be a valid string"),
        issue("author_id", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
      ]);
      expect((await send("[]", partial(Book))).detail).toMatchObject([{ type: "model_type" }]);
    });

    it("partial() accepts models only", () => {
      expect(() => partial({} as never)).toThrow("partial() takes a model's class, not");
    });
  });

  it("An error of a subclass names the subclass", async () => {
    class Novel extends Book {}
    expect((await send("[]", Novel)).detail).toMatchObject([
      { msg: "Input should be a valid dictionary or instance of Novel" },
    ]);
    expect((await send({ name: "Jane" }, Author as never)).value).toEqual({ name: "Jane" });
  });
});
