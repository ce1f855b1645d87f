import type { WireReader } from "../../../kit/protobuf/wire-reader.js";
import type { WireWriter } from "../../../kit/protobuf/wire-writer.js";
import { ScalarType } from "../protobuf.js";

/** The way in which values of one scalar type are read and written. */
export interface Scalar {
  /** 0 varint, 1 eight bytes, 2 with a length, 5 four bytes. */
  readonly wireType: 0 | 1 | 2 | 5;
  readonly zero: unknown;
  write(writer: WireWriter, value: unknown): void;
  read(reader: WireReader): unknown;
  /** True for a value that is not sent where fields have no presence. */
  isZero(value: unknown): boolean;
}

const i32 = (value: unknown): number => within(value, -0x8000_0000, 0x7fff_ffff, "an integer of 32 bits");
const u32 = (value: unknown): number => within(value, 0, 0xffff_ffff, "a positive integer of 32 bits");

function within(value: unknown, min: number, max: number, expected: string): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw new TypeError(`${expected} is expected, not ${String(value).slice(0, 60)}`);
}

function number(value: unknown): number {
  if (typeof value === "number") return value;
  throw new TypeError(`a number is expected, not ${typeof value}`);
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw new TypeError(`a string is expected, not ${typeof value}`);
}

function flag(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError(`true or false is expected, not ${typeof value}`);
}

function data(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`bytes are expected, not ${typeof value}`);
}

/** An integer of 64 bits, as its bits: numbers and texts are taken too. */
function bits(value: unknown, signed: boolean): bigint {
  const given = typeof value === "bigint" ? value : BigInt(value as string | number);
  const fits = signed ? BigInt.asIntN(64, given) === given : BigInt.asUintN(64, given) === given;
  if (!fits) throw new TypeError(`an integer of 64 bits is expected, not ${given}`);
  return signed ? BigInt.asUintN(64, given) : given;
}

const isZeroNumber = (value: unknown): boolean => Object.is(value, 0);
const isZeroInteger = (value: unknown): boolean => value === 0;
const isZeroLong = (value: unknown): boolean => value === 0n || value === 0 || value === "0";

const long = (
  wireType: 0 | 1,
  signed: boolean,
  write: (writer: WireWriter, value: bigint) => void,
  read: (reader: WireReader) => bigint,
): Scalar => ({
  wireType,
  zero: 0n,
  isZero: isZeroLong,
  write: (writer, value) => write(writer, bits(value, signed)),
  read,
});

const zigzag64 = (value: bigint): bigint => BigInt.asUintN(64, (value << 1n) ^ (BigInt.asIntN(64, value) >> 63n));
const unzigzag64 = (value: bigint): bigint => (value >> 1n) ^ -(value & 1n);

const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: {
    wireType: 1,
    zero: 0,
    isZero: isZeroNumber,
    write: (writer, value) => writer.double(number(value)),
    read: (reader) => reader.double(),
  },
  [ScalarType.FLOAT]: {
    wireType: 5,
    zero: 0,
    isZero: isZeroNumber,
    write: (writer, value) => writer.float(number(value)),
    read: (reader) => reader.float(),
  },
  [ScalarType.INT64]: long(
    0,
    true,
    (writer, value) => writer.uint64(value),
    (reader) => BigInt.asIntN(64, reader.uint64()),
  ),
  [ScalarType.UINT64]: long(
    0,
    false,
    (writer, value) => writer.uint64(value),
    (reader) => reader.uint64(),
  ),
  [ScalarType.SINT64]: long(
    0,
    true,
    (writer, value) => writer.uint64(zigzag64(value)),
    (reader) => unzigzag64(reader.uint64()),
  ),
  [ScalarType.FIXED64]: long(
    1,
    false,
    (writer, value) => writer.fixed64(value),
    (reader) => reader.fixed64(),
  ),
  [ScalarType.SFIXED64]: long(
    1,
    true,
    (writer, value) => writer.fixed64(value),
    (reader) => reader.sfixed64(),
  ),
  [ScalarType.INT32]: {
    wireType: 0,
    zero: 0,
    isZero: isZeroInteger,
    write: (writer, value) => writer.int32(i32(value)),
    read: (reader) => reader.uint32() | 0,
  },
  [ScalarType.UINT32]: {
    wireType: 0,
    zero: 0,
    isZero: isZeroInteger,
    write: (writer, value) => writer.uint32(u32(value)),
    read: (reader) => reader.uint32(),
  },
  [ScalarType.SINT32]: {
    wireType: 0,
    zero: 0,
    isZero: isZeroInteger,
    write: (writer, value) => writer.uint32((i32(value) << 1) ^ (i32(value) >> 31)),
    read: (reader) => {
      const value = reader.uint32();
      return (value >>> 1) ^ -(value & 1);
    },
  },
  [ScalarType.FIXED32]: {
    wireType: 5,
    zero: 0,
    isZero: isZeroInteger,
    write: (writer, value) => writer.fixed32(u32(value)),
    read: (reader) => reader.fixed32(),
  },
  [ScalarType.SFIXED32]: {
    wireType: 5,
    zero: 0,
    isZero: isZeroInteger,
    write: (writer, value) => writer.fixed32(i32(value)),
    read: (reader) => reader.sfixed32(),
  },
  [ScalarType.BOOL]: {
    wireType: 0,
    zero: false,
    isZero: (value) => value === false,
    write: (writer, value) => writer.uint32(flag(value) ? 1 : 0),
    read: (reader) => reader.bool(),
  },
  [ScalarType.STRING]: {
    wireType: 2,
    zero: "",
    isZero: (value) => value === "",
    write: (writer, value) => writer.string(text(value)),
    read: (reader) => reader.string(),
  },
  [ScalarType.BYTES]: {
    wireType: 2,
    zero: new Uint8Array(0),
    isZero: (value) => (value as Uint8Array).length === 0,
    write: (writer, value) => writer.bytes(data(value)),
    read: (reader) => reader.bytes(),
  },
};

/** An enum is an integer: values without a name are kept. */
export const enumScalar: Scalar = scalars[ScalarType.INT32];

/** The scalar of a type; its 64-bit integers as text if the field says so. */
export function scalarOf(type: ScalarType, longAsString = false): Scalar {
  const scalar = scalars[type];
  if (!longAsString) return scalar;
  return { ...scalar, zero: "0", read: (reader) => String(scalar.read(reader)) };
}
