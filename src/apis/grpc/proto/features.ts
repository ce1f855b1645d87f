import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FeatureSetSchema } from "@bufbuild/protobuf/wkt";
import {
  FeatureSet_EnumType,
  FeatureSet_FieldPresence,
  FeatureSet_JsonFormat,
  FeatureSet_MessageEncoding,
  FeatureSet_RepeatedFieldEncoding,
  FeatureSet_Utf8Validation,
} from "../protobuf.js";
import type { Options } from "./options.js";

type Features = MessageInitShape<typeof FeatureSetSchema>;

const known: Readonly<Record<string, readonly [keyof Features, Readonly<Record<string, unknown>>]>> = {
  "features.field_presence": ["fieldPresence", FeatureSet_FieldPresence],
  "features.enum_type": ["enumType", FeatureSet_EnumType],
  "features.repeated_field_encoding": ["repeatedFieldEncoding", FeatureSet_RepeatedFieldEncoding],
  "features.utf8_validation": ["utf8Validation", FeatureSet_Utf8Validation],
  "features.message_encoding": ["messageEncoding", FeatureSet_MessageEncoding],
  "features.json_format": ["jsonFormat", FeatureSet_JsonFormat],
};

/** The features of an edition among options; undefined if there are none. */
export function featuresOf(options: Options): Features | undefined {
  const features: Record<string, unknown> = {};
  for (const [name, [field, values]] of Object.entries(known)) {
    const value = options.get(name);
    if (typeof value === "string" && typeof values[value] === "number") features[field] = values[value];
  }
  return Object.keys(features).length === 0 ? undefined : (features as Features);
}
