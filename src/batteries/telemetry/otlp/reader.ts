import { WireReader } from "../../../kit/protobuf/wire-reader.js";

/** One field of a message. */
export interface Field {
  readonly number: number;
  /** The number of a varint or a fixed field; 0 for bytes. */
  readonly value: number;
  readonly bytes: Uint8Array | null;
}

const maxFields = 1000;

/** Reads the fields of a message from a collector, which may send anything; null if it is not a message. */
export function readFields(bytes: Uint8Array): Field[] | null {
  const fields: Field[] = [];
  const reader = new WireReader(bytes);
  try {
    while (reader.at < reader.end && fields.length < maxFields) fields.push(readField(reader));
  } catch {
    return null;
  }
  return fields;
}

function readField(reader: WireReader): Field {
  const tag = reader.header();
  const number = tag >>> 3;
  if ((tag & 7) === 0) return { number, value: Number(reader.uint64()), bytes: null };
  if ((tag & 7) === 1) return { number, value: reader.double(), bytes: null };
  if ((tag & 7) === 2) return { number, value: 0, bytes: reader.bytes() };
  if ((tag & 7) === 5) return { number, value: reader.fixed32(), bytes: null };
  throw new RangeError("a collector sends no other fields");
}

export interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

const maxMessage = 500;

/** The part of an export that the collector did not accept: field 1 of the response, the same for all signals. */
export function readPartialSuccess(body: Uint8Array): PartialSuccess {
  const partial = readFields(body)?.find(({ number }) => number === 1)?.bytes;
  const fields = partial ? (readFields(partial) ?? []) : [];
  const message = fields.find(({ number }) => number === 2)?.bytes;
  return {
    rejected: fields.find(({ number, bytes }) => number === 1 && bytes === null)?.value ?? 0,
    message: message ? textOf(message) : "",
  };
}

/** The message of a `google.rpc.Status`, with which collectors explain a refusal. */
export function readStatusMessage(body: Uint8Array): string {
  const message = readFields(body)?.find(({ number }) => number === 2)?.bytes;
  return message ? textOf(message) : "";
}

/** The delay in the `RetryInfo` of a `google.rpc.Status`, in milliseconds; null if there is none. */
export function readRetryDelay(status: Uint8Array): number | null {
  for (const { number, bytes } of readFields(status) ?? []) {
    if (number !== 3 || bytes === null) continue;
    const any = readFields(bytes) ?? [];
    const type = any.find((field) => field.number === 1)?.bytes;
    if (!type || !textOf(type).endsWith("google.rpc.RetryInfo")) continue;
    const info = any.find((field) => field.number === 2)?.bytes;
    const delay = info ? readFields(info)?.find((field) => field.number === 1)?.bytes : undefined;
    const parts = delay ? (readFields(delay) ?? []) : [];
    const part = (wanted: number): number => parts.find((field) => field.number === wanted)?.value ?? 0;
    return part(1) * 1000 + part(2) / 1e6;
  }
  return null;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, maxMessage)).toString("utf8");
}
