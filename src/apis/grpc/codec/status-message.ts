import type { DescMessage } from "@bufbuild/protobuf";
import { ValueError } from "../../../kit/value-error.js";
import type { GrpcErrorDetail } from "../grpc-error.js";
import { BinaryReader, BinaryWriter, create, toBinary, WireType } from "../protobuf.js";

/** A detail as it is sent: `google.protobuf.Any`. */
export interface PackedDetail {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

export function packDetail(detail: GrpcErrorDetail): PackedDetail {
  if ("typeUrl" in detail) {
    if (detail.value instanceof Uint8Array) return detail;
    throw new ValueError(`the detail ${detail.typeUrl} of an error has no bytes`);
  }
  const schema = detail.schema as unknown as DescMessage;
  return {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    value: toBinary(schema, create(schema, detail.value as Record<string, unknown>)),
  };
}

/** The bytes of a `google.rpc.Status`, which is sent as `grpc-status-details-bin`. */
export function encodeStatus(code: number, message: string, details: readonly GrpcErrorDetail[]): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.Varint).int32(code);
  writer.tag(2, WireType.LengthDelimited).string(message.toWellFormed());
  for (const detail of details) {
    const { typeUrl, value } = packDetail(detail);
    writer.tag(3, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(typeUrl).tag(2, WireType.LengthDelimited).bytes(value);
    writer.join();
  }
  return writer.finish();
}

/** The details in a `google.rpc.Status`; none if the bytes are malformed. */
export function decodeStatusDetails(bytes: Uint8Array): PackedDetail[] {
  const details: PackedDetail[] = [];
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === 3 && type === WireType.LengthDelimited) details.push(decodeAny(reader.bytes()));
      else reader.skip(type, field);
    }
  } catch {
    return [];
  }
  return details;
}

function decodeAny(bytes: Uint8Array): PackedDetail {
  const reader = new BinaryReader(bytes);
  let typeUrl = "";
  let value: Uint8Array = new Uint8Array(0);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.LengthDelimited) typeUrl = reader.string();
    else if (field === 2 && type === WireType.LengthDelimited) value = reader.bytes();
    else reader.skip(type, field);
  }
  return { typeUrl, value };
}
