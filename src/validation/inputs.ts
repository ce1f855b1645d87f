import type { Form, FormFile } from "../http/body/form.js";
import { objectOf } from "../http/query.js";
import type { Request } from "../http/request.js";
import { coercion } from "./coerce.js";
import { jsonSchemaOf } from "./json-schema.js";
import { objectShape } from "./schema-walk.js";
import type { StandardSchema } from "./standard-schema.js";

/** The sources of a schema's input, other than a JSON body. */
export type TextPlace = "params" | "query" | "headers" | "form";

type Read = (request: Request) => Record<string, unknown>;

/** A function that reads the input of a schema from a request and converts text to the types of the schema. */
export function inputReader(place: TextPlace, schema: StandardSchema): Read {
  const read = place === "headers" ? headerReader(schema) : readers[place];
  const coerce = coercion(schema, place === "query" || place === "form" ? "repeated" : "commas");
  if (!coerce) return read;
  return (request) => {
    const input = read(request);
    coerce(input);
    return input;
  };
}

const readers: Readonly<Record<Exclude<TextPlace, "headers">, Read>> = {
  params: (request) => ({ ...request.params }),
  query: (request) => ({ ...request.query.toJSON() }),
  form: (request) => formObject(request.form()),
};

/**
 * The headers that the schema names, in its spelling. A strict schema would refuse the headers that every client and
 * proxy adds, so the others are left out. All headers, in lower case, if the schema names none or allows others.
 */
function headerReader(schema: StandardSchema): Read {
  const root = jsonSchemaOf(schema, "input");
  const shape = root && objectShape(root, root);
  const open = shape?.others !== undefined && shape.others !== false;
  if (!shape || shape.properties.size === 0 || open) return (request) => request.headers.toJSON();
  const fields = [...shape.properties.keys()].map((name) => [name, name.toLowerCase()] as const);
  return (request) => {
    const input: Record<string, unknown> = {};
    for (const [name, field] of fields) {
      const value = request.source.header(field);
      if (value !== undefined) input[name] = value;
    }
    return input;
  };
}

/** One property per name, a list where it was given several times; files as the standard `File` that libraries know. */
function formObject(form: Form): Record<string, unknown> {
  const entries = Array.from(
    form,
    ([name, given]) => [name, typeof given === "string" ? given : toFile(given)] as const,
  );
  return { ...objectOf(entries) };
}

function toFile(file: FormFile): File {
  return new File([file.bytes as Uint8Array<ArrayBuffer>], file.filename, { type: file.type });
}
