import { describe, expect, it } from "vitest";
import { Framing } from "../../../src/db/postgres/framing.js";

const message = (type: string, body: string): Buffer => {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type, 0);
  bytes.writeUInt32BE(4 + body.length, 1);
  bytes.write(body, 5);
  return bytes;
};

describe("Framing", () => {
  const stream = Buffer.concat([
    message("1", ""),
    message("D", "x".repeat(20)),
    message("C", "SELECT 1\0"),
    message("Z", "I"),
  ]);

  it("accepts messages however they are cut into chunks", () => {
    for (let size = 1; size <= stream.length; size++) {
      const framing = new Framing();
      for (let at = 0; at < stream.length; at += size) framing.check(stream.subarray(at, at + size));
      expect(() => framing.check(Buffer.from("?????"))).toThrow("not PostgreSQL's protocol");
    }
  });

  it.each([
    ["a type that does not exist", Buffer.from("rubbish")],
    ["a length shorter than itself", Buffer.from([0x5a, 0, 0, 0, 3])],
    ["a length beyond any row", Buffer.from([0x44, 0xff, 0, 0, 0])],
    ["a length beyond any other message", Buffer.from([0x43, 2, 0, 0, 0])],
  ])("refuses %s", (_, bytes) => {
    expect(() => new Framing().check(Buffer.concat([stream, bytes]))).toThrow("not PostgreSQL's protocol");
  });
});
