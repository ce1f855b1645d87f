import { parseJson } from "../../../http/json/json.js";
import { show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import { isDescribed, jsonSchemaSymbol } from "../../../validation/body-validator.js";
import { jsonSchemaOf } from "../../../validation/json-schema.js";
import { isStandardSchema } from "../../../validation/standard-schema.js";
import type { ValueSchema } from "../topic.js";
import { checkIncoming, checkOutgoing, encodeValue, UndecodableError } from "../values.js";
import type { Format } from "./format.js";

/** The format of JSON with a schema of a library, or a model. */
export function jsonFormat(schema: ValueSchema): Format {
  const document = documentOf(schema);
  if (document === undefined) throw new ValueError(`the schema ${show(schema)} has no JSON Schema`);
  const { title } = document;
  return {
    name: typeof title === "string" ? title : null,
    definition: async () => ({ schema: JSON.stringify(document), schemaType: "JSON" }),
    async write(topic, value) {
      const { body } = encodeValue(value);
      await checkOutgoing(topic, schema, value, body);
      return body;
    },
    async read(topic, _id, payload) {
      let value: unknown;
      try {
        value = parseJson(payload);
      } catch (error) {
        throw new UndecodableError(error);
      }
      return checkIncoming(topic, schema, value, payload);
    },
  };
}

/** Draft 7: not every registry can compare newer ones. */
function documentOf(schema: ValueSchema): Readonly<Record<string, unknown>> | undefined {
  if (isDescribed(schema)) return schema[jsonSchemaSymbol]("input").schema;
  return isStandardSchema(schema) ? jsonSchemaOf(schema, "input", undefined, "draft-07") : undefined;
}
