/*
 * The package @bufbuild/protobuf. It is imported here alone, and in a way whose failure is handled, so that a bundler
 * accepts applications without it. Types are imported where they are used: they leave nothing in the code.
 */

import { notInstalled } from "../../kit/optional-package.js";

export const {
  create,
  createFileRegistry,
  createRegistry,
  fromBinary,
  fromJsonString,
  ScalarType,
  toBinary,
  toJsonString,
} = await import("@bufbuild/protobuf").catch(notInstalled);

export const { BinaryReader, BinaryWriter, WireType } = await import("@bufbuild/protobuf/wire").catch(notInstalled);

/** All types that come with protobuf. */
export const wellKnown = await import("@bufbuild/protobuf/wkt").catch(notInstalled);

export const {
  Edition,
  FeatureSet_EnumType,
  FeatureSet_FieldPresence,
  FeatureSet_JsonFormat,
  FeatureSet_MessageEncoding,
  FeatureSet_RepeatedFieldEncoding,
  FeatureSet_Utf8Validation,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldOptions_JSType,
  file_google_protobuf_struct,
  MethodOptions_IdempotencyLevel,
} = wellKnown;

export const FileDescriptorProtoSchema: typeof import("@bufbuild/protobuf/wkt").FileDescriptorProtoSchema =
  wellKnown.FileDescriptorProtoSchema;

export type BinaryReader = import("@bufbuild/protobuf/wire").BinaryReader;
export type BinaryWriter = import("@bufbuild/protobuf/wire").BinaryWriter;
export type Edition = import("@bufbuild/protobuf/wkt").Edition;
export type FieldDescriptorProto_Label = import("@bufbuild/protobuf/wkt").FieldDescriptorProto_Label;
export type FieldDescriptorProto_Type = import("@bufbuild/protobuf/wkt").FieldDescriptorProto_Type;
export type ScalarType = import("@bufbuild/protobuf").ScalarType;
