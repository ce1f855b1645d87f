import { beforeEach, describe, expect, it } from "vitest";
import { MessageReader, messageType } from "../../../../src/engines/db/postgres/message-reader.js";

const message = (type: string, body: string): Buffer => {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type, 0);
  bytes.writeUInt32BE(4 + body.length, 1);
  bytes.write(body, 5);
  return bytes;
};

const messages = [
  message("1", ""),
  message("2", ""),
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
    reader.take = (type, bytes, start, end) => {
      events.push(`${String.fromCharCode(type)} ${bytes.toString("latin1", start, end)}`);
      return true;
    };
  });

  const inOrder = [
    "1 passed on",
    "2 ",
    "D a first row",
    `D ${"x".repeat(20)}`,
    "C SELECT 2\0",
    "Z passed on",
    "D another",
    "Z passed on",
  ];

  it("Rows and other messages reach their receivers in order, for all sizes of chunks", () => {
    for (let size = 1; size <= stream.length; size++) {
      events.length = 0;
      for (let at = 0; at < stream.length; at += size) reader.read(stream.subarray(at, at + size));
      expect(events).toEqual(inOrder);
    }
  });

  it("Messages that are not taken are passed on", () => {
    reader.take = () => false;
    reader.read(stream);
    expect(events).toEqual(messages.map((bytes) => `${bytes.toString("latin1", 0, 1)} passed on`));
  });

  it("Earlier messages are passed on before a row is given", () => {
    const described = message("T", "");
    reader.read(Buffer.concat([described, message("D", "a row")]));
    expect(events).toEqual(["T passed on", "D a row"]);
    expect(messageType.dataRow).toBe("D".charCodeAt(0));
  });

  it.each([
    ["a type that does not exist", Buffer.from("rubbish")],
    ["a length shorter than itself", Buffer.from([0x5a, 0, 0, 0, 3])],
    ["a length beyond any row", Buffer.from([0x44, 0xff, 0, 0, 0])],
    ["a length beyond any other message", Buffer.from([0x43, 2, 0, 0, 0])],
  ])("The reader refuses %s, in one piece or byte by byte", (_, bytes) => {
    expect(() => reader.read(Buffer.concat([stream, bytes]))).toThrow("not PostgreSQL's protocol");
    const slowly = new MessageReader();
    expect(() => {
      for (const byte of bytes) slowly.read(Buffer.from([byte]));
    }).toThrow("not PostgreSQL's protocol");
  });
});
