import { describe, expect, it } from "vitest";
import { StatementBuffer } from "../../../../src/engines/db/postgres/statement-buffer.js";
import type { Encoded } from "../../../../src/engines/db/values/encode.js";

interface Statement {
  readonly name: string;
  readonly values: Encoded[];
}

/** Reads the messages as PostgreSQL's documentation lays them out. */
function parse(bytes: Buffer): Statement[] {
  const statements: Statement[] = [];
  let at = 0;
  const message = (type: string): Buffer => {
    expect(bytes.toString("latin1", at, at + 1)).toBe(type);
    const end = at + 1 + bytes.readUInt32BE(at + 1);
    const body = bytes.subarray(at + 5, end);
    at = end;
    return body;
  };
  while (at < bytes.length) {
    statements.push(parseBind(message("B")));
    expect([...message("E")]).toEqual([0, 0, 0, 0, 0]);
    expect(message("S")).toHaveLength(0);
  }
  return statements;
}

function parseBind(body: Buffer): Statement {
  expect(body[0]).toBe(0);
  const end = body.indexOf(0, 1);
  let at = end + 1;
  const int16 = (): number => body.readInt16BE((at += 2) - 2);
  const formats = Array.from({ length: int16() }, int16);
  const values = Array.from({ length: body.readUInt16BE((at += 2) - 2) }, (_, i): Encoded => {
    const length = body.readInt32BE((at += 4) - 4);
    if (length === -1) return null;
    const bytes = body.subarray(at, (at += length));
    return formats[i] === 1 ? Buffer.from(bytes) : bytes.toString();
  });
  expect(int16()).toBe(0);
  expect(at).toBe(body.length);
  return { name: body.toString("latin1", 1, end), values };
}

describe("StatementBuffer", () => {
  it("A statement buffer returns the messages of all statements in one piece, and is then empty", () => {
    const buffer = new StatementBuffer();
    expect(buffer.empty).toBe(true);
    const statements: Statement[] = [
      { name: "stoa_1", values: [] },
      { name: "stoa_2", values: ["4711", null, "", "ö€😀", "a text of more than thirty-two characters, with ö"] },
      { name: "stoa_3", values: [Buffer.from([0, 255]), "text", null, Buffer.alloc(0)] },
    ];
    for (const { name, values } of statements) buffer.add(name, values);
    expect(buffer.empty).toBe(false);
    expect(parse(buffer.take())).toEqual(statements);
    expect(buffer.empty).toBe(true);
    buffer.add("stoa_1", ["again"]);
    expect(parse(buffer.take())).toEqual([{ name: "stoa_1", values: ["again"] }]);
  });

  it("A statement buffer grows with its content", () => {
    const buffer = new StatementBuffer();
    const values = ["x".repeat(3000), "€".repeat(4097), "y".repeat(200_000), ...Array.from({ length: 5000 }, String)];
    buffer.add("stoa_1", values);
    buffer.add("stoa_2", [Buffer.alloc(100_000, 7)]);
    const taken = buffer.take();
    buffer.add("stoa_3", ["must not touch what was taken"]);
    expect(parse(taken)).toEqual([
      { name: "stoa_1", values },
      { name: "stoa_2", values: [Buffer.alloc(100_000, 7)] },
    ]);
  });

  it("A statement buffer grows wherever in a statement its end is reached", () => {
    const statement = { name: "stoa_statement", values: ["12345", null, Buffer.from([1, 2])] };
    for (let filled = 1950; filled < 2100; filled++) {
      const buffer = new StatementBuffer();
      const first = { name: "s", values: [Buffer.alloc(filled, 1)] };
      buffer.add(first.name, first.values);
      buffer.add(statement.name, statement.values);
      expect(parse(buffer.take())).toEqual([first, statement]);
    }
  });

  it("A statement buffer holds as many parameters as the protocol can count", () => {
    const buffer = new StatementBuffer();
    const values = Array.from({ length: 65_535 }, () => null);
    buffer.add("stoa_1", values);
    expect(parse(buffer.take())[0]!.values).toHaveLength(65_535);
  });
});
