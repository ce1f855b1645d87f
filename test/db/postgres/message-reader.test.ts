import { beforeEach, describe, expect, it } from "vitest";
import { MessageReader } from "../../../src/db/postgres/message-reader.js";

const message = (type: string, body: string): Buffer => {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type, 0);
  bytes.writeUInt32BE(4 + body.length, 1);
  bytes.write(body, 5);
  return bytes;
};

const messages = [
  message("1", ""),
  message("D", "a first row"),
  message("D", "x".repeat(20)),
  message("C", "SELECT 2\0"),
  message("Z", "I"),
  message("D", "another"),
  message("Z", "I"),
];
const stream = Buffer.concat(messages);

describe("MessageReader", () => {
  let events: string[];
  let reader: MessageReader;

  beforeEach(() => {
    events = [];
    reader = new MessageReader();
    reader.passOn = (bytes) => {
      // Whole messages, one or several.
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + bytes.readUInt32BE(at + 1);
        expect(end).toBeLessThanOrEqual(bytes.length);
        events.push(`${bytes.toString("latin1", at, at + 1)} passed on`);
        at = end;
      }
    };
    reader.takeRow = (bytes, start, end) => {
      events.push(bytes.toString("latin1", start, end));
      return true;
    };
  });

  const inOrder = [
    "1 passed on",
    "a first row",
    "x".repeat(20),
    "C passed on",
    "Z passed on",
    "another",
    "Z passed on",
  ];

  it("gives rows to one and all else to the other, in order, however they are cut into chunks", () => {
    for (let size = 1; size <= stream.length; size++) {
      events.length = 0;
      for (let at = 0; at < stream.length; at += size) reader.read(stream.subarray(at, at + size));
      expect(events).toEqual(inOrder);
    }
  });

  it("passes rows on that nobody takes", () => {
    reader.takeRow = () => false;
    reader.read(stream);
    expect(events).toEqual(messages.map((bytes) => `${bytes.toString("latin1", 0, 1)} passed on`));
  });

  it("has passed on what comes before a row when it asks who takes it", () => {
    let asked = false;
    reader.passOn = (bytes) => (asked ||= bytes.toString("latin1", 0, 1) === "1");
    reader.takeRow = () => asked;
    reader.read(Buffer.concat(messages.slice(0, 2)));
    expect(asked).toBe(true);
  });

  it.each([
    ["a type that does not exist", Buffer.from("rubbish")],
    ["a length shorter than itself", Buffer.from([0x5a, 0, 0, 0, 3])],
    ["a length beyond any row", Buffer.from([0x44, 0xff, 0, 0, 0])],
    ["a length beyond any other message", Buffer.from([0x43, 2, 0, 0, 0])],
  ])("refuses %s, in one piece or byte by byte", (_, bytes) => {
    expect(() => reader.read(Buffer.concat([stream, bytes]))).toThrow("not PostgreSQL's protocol");
    const slowly = new MessageReader();
    expect(() => bytes.forEach((byte) => slowly.read(Buffer.from([byte])))).toThrow("not PostgreSQL's protocol");
  });
});
