/**
 * A decoder of protocol buffers for the messages of OTLP, written apart from the encoder: by the field numbers of
 * opentelemetry-proto 1.x. It refuses anything that the schema does not know.
 */

type Kind =
  | "string"
  | "bytes"
  | "hex"
  | "varint"
  | "int64"
  | "bool"
  | "double"
  | "fixed32"
  | "fixed64"
  | "doubles"
  | "fixed64s";
type Schema = { readonly [field: number]: readonly [name: string, kind: Kind | (() => Schema), repeated?: "repeated"] };

const keyValue: Schema = { 1: ["key", "string"], 2: ["value", () => anyValue] };
const anyValue: Schema = {
  1: ["string", "string"],
  2: ["bool", "bool"],
  3: ["int", "int64"],
  4: ["double", "double"],
  5: ["array", () => ({ 1: ["values", () => anyValue, "repeated"] })],
  6: ["kvlist", () => ({ 1: ["values", () => keyValue, "repeated"] })],
  7: ["bytes", "bytes"],
};
const attributes = (): Schema => keyValue;
const scope: Schema = { 1: ["name", "string"], 2: ["version", "string"], 3: ["attributes", attributes, "repeated"] };
const resource: Schema = { 1: ["attributes", attributes, "repeated"], 2: ["dropped", "varint"] };

const span: Schema = {
  1: ["traceId", "hex"],
  2: ["spanId", "hex"],
  3: ["traceState", "string"],
  4: ["parentSpanId", "hex"],
  5: ["name", "string"],
  6: ["kind", "varint"],
  7: ["start", "fixed64"],
  8: ["end", "fixed64"],
  9: ["attributes", attributes, "repeated"],
  10: ["droppedAttributes", "varint"],
  11: [
    "events",
    () => ({ 1: ["time", "fixed64"], 2: ["name", "string"], 3: ["attributes", attributes, "repeated"] }),
    "repeated",
  ],
  12: ["droppedEvents", "varint"],
  13: [
    "links",
    () => ({
      1: ["traceId", "hex"],
      2: ["spanId", "hex"],
      3: ["traceState", "string"],
      4: ["attributes", attributes, "repeated"],
      6: ["flags", "fixed32"],
    }),
    "repeated",
  ],
  14: ["droppedLinks", "varint"],
  15: ["status", () => ({ 2: ["message", "string"], 3: ["code", "varint"] })],
  16: ["flags", "fixed32"],
};

const times: Schema = { 2: ["start", "fixed64"], 3: ["time", "fixed64"] };
const numberPoint: Schema = { ...times, 4: ["value", "double"], 7: ["attributes", attributes, "repeated"] };
const histogramPoint: Schema = {
  ...times,
  4: ["count", "fixed64"],
  5: ["sum", "double"],
  6: ["buckets", "fixed64s"],
  7: ["bounds", "doubles"],
  9: ["attributes", attributes, "repeated"],
};
const summaryPoint: Schema = {
  ...times,
  4: ["count", "fixed64"],
  5: ["sum", "double"],
  6: ["quantiles", () => ({ 1: ["quantile", "double"], 2: ["value", "double"] }), "repeated"],
  7: ["attributes", attributes, "repeated"],
};
const metric: Schema = {
  1: ["name", "string"],
  2: ["description", "string"],
  3: ["unit", "string"],
  5: ["gauge", () => ({ 1: ["points", () => numberPoint, "repeated"] })],
  7: [
    "sum",
    () => ({ 1: ["points", () => numberPoint, "repeated"], 2: ["temporality", "varint"], 3: ["monotonic", "bool"] }),
  ],
  9: ["histogram", () => ({ 1: ["points", () => histogramPoint, "repeated"], 2: ["temporality", "varint"] })],
  11: ["summary", () => ({ 1: ["points", () => summaryPoint, "repeated"] })],
};

const logRecord: Schema = {
  1: ["time", "fixed64"],
  2: ["severity", "varint"],
  3: ["severityText", "string"],
  5: ["body", () => anyValue],
  6: ["attributes", attributes, "repeated"],
  8: ["flags", "fixed32"],
  9: ["traceId", "hex"],
  10: ["spanId", "hex"],
  11: ["observed", "fixed64"],
};

const request = (item: Schema): Schema => ({
  1: [
    "resources",
    () => ({
      1: ["resource", () => resource],
      2: ["scopes", () => ({ 1: ["scope", () => scope], 2: ["items", () => item, "repeated"] }), "repeated"],
    }),
    "repeated",
  ],
});

export const schemas = { traces: request(span), metrics: request(metric), logs: request(logRecord) };

// biome-ignore lint/suspicious/noExplicitAny: tests read decoded messages as they are
export type Decoded = any;

export function decode(bytes: Buffer, schema: Schema): Decoded {
  const message: Record<string, unknown> = {};
  let at = 0;
  const varint = (): bigint => {
    let result = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length || shift > 63n) throw new Error("a varint has no end");
      const byte = bytes[at++]!;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error("the message is cut short");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [name, kind, repeated] = schema[tag >> 3] ?? fail(`field ${tag >> 3} is not known`);
    const value = read(kind, tag & 7, varint, take);
    if (repeated) ((message[name] ??= []) as unknown[]).push(value);
    else message[name] = value;
  }
  return message;
}

const wireTypes = {
  string: 2,
  bytes: 2,
  hex: 2,
  varint: 0,
  int64: 0,
  bool: 0,
  double: 1,
  fixed32: 5,
  fixed64: 1,
  doubles: 2,
  fixed64s: 2,
};

function read(kind: Kind | (() => Schema), wire: number, varint: () => bigint, take: (n: number) => Buffer): unknown {
  if (wire !== (typeof kind === "function" ? 2 : wireTypes[kind])) fail(`wire type ${wire} for ${String(kind)}`);
  if (typeof kind === "function") return decode(take(Number(varint())), kind());
  switch (kind) {
    case "string":
      return new TextDecoder("utf-8", { fatal: true }).decode(take(Number(varint())));
    case "bytes":
      return take(Number(varint()));
    case "hex":
      return take(Number(varint())).toString("hex");
    case "varint":
      return Number(varint());
    case "int64":
      return Number(BigInt.asIntN(64, varint()));
    case "bool":
      return varint() !== 0n;
    case "double":
      return take(8).readDoubleLE();
    case "fixed32":
      return take(4).readUInt32LE();
    case "fixed64":
      return take(8).readBigUInt64LE();
    case "doubles":
      return packed(take(Number(varint())), (piece) => piece.readDoubleLE());
    case "fixed64s":
      return packed(take(Number(varint())), (piece) => Number(piece.readBigUInt64LE()));
  }
}

function packed(bytes: Buffer, read: (piece: Buffer) => number): number[] {
  return Array.from({ length: bytes.length / 8 }, (_, i) => read(bytes.subarray(i * 8, i * 8 + 8)));
}

function fail(message: string): never {
  throw new Error(message);
}

/** Attributes as an object. */
export function attributesOf(item: Decoded): Record<string, unknown> {
  return Object.fromEntries((item.attributes ?? []).map(({ key, value }: Decoded) => [key, plain(value)]));
}

export function plain(value: Decoded): unknown {
  const [kind] = Object.keys(value ?? {});
  if (kind === undefined) return null;
  if (kind === "array") return (value.array.values ?? []).map(plain);
  if (kind === "kvlist") {
    return Object.fromEntries((value.kvlist.values ?? []).map((item: Decoded) => [item.key, plain(item.value)]));
  }
  return value[kind];
}
