import { MessagingError } from "../errors.js";

/** The part of a connection of the client library that is used here. */
interface Receiver {
  /** Received bytes that are not read yet. */
  rest: Buffer;
  /** Reads the next frame; false if it has not arrived. */
  recvFrame(): false | { fields: { unreadable?: MessagingError } };
}

/** The type of the frame with the properties of a message, and its parts: AMQP 0-9-1, 2.3.5.2. */
const headerFrame = 2;
const flagsAt = 7 + 12;
/** Flags of the properties content-type, content-encoding and headers, which come first. */
const texts = [0x8000, 0x4000];
const tableFlag = 0x2000;

/**
 * Has a connection deliver messages whose headers the client library cannot read: nested thousands of levels deep, they are more
 * than its stack holds. It would end the connection, and each one after it, as long as the message is in the queue. They come
 * without headers, and with the reason. What is used is no part of the library's interface: without it a connection is left as
 * it is.
 */
export function surviveHeaders(model: object): void {
  const connection = (model as { connection?: Partial<Receiver> }).connection;
  if (!isReceiver(connection)) return;
  const receive = connection.recvFrame.bind(connection);
  connection.recvFrame = () => {
    const { rest } = connection;
    try {
      return receive();
    } catch (error) {
      // A frame that is none is not taken from the bytes.
      if (connection.rest === rest || rest[0] !== headerFrame) throw error;
      connection.rest = withoutTable(rest, error);
      const frame = receive();
      const text = "the headers of the message cannot be read";
      if (frame) frame.fields.unreadable = new MessagingError("REFUSED", text, { cause: error });
      return frame;
    }
  };
}

/** The bytes that begin with a frame, whose table of headers is empty now. */
function withoutTable(bytes: Buffer, error: unknown): Buffer {
  const flags = bytes.readUInt16BE(flagsAt);
  if ((flags & tableFlag) === 0) throw error;
  let at = flagsAt + 2;
  for (const flag of texts) if ((flags & flag) !== 0) at += 1 + bytes[at]!;
  const size = bytes.readUInt32BE(at);
  const start = Buffer.from(bytes.subarray(0, at + 4));
  start.writeUInt32BE(start.readUInt32BE(3) - size, 3);
  start.writeUInt32BE(0, at);
  return Buffer.concat([start, bytes.subarray(at + 4 + size)]);
}

function isReceiver(connection: Partial<Receiver> | undefined): connection is Receiver {
  return Buffer.isBuffer(connection?.rest) && typeof connection.recvFrame === "function";
}
