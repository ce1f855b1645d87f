import { oid } from "../../engines/db/values/oids.js";
import type { JsonColumn, JsonPlan, JsonValue } from "../compile/json/json-plan.js";

/** The ways to write the text of a field as JSON. */
export const form = {
  /** The text is JSON. */
  asIs: 0,
  /** In quotes. The text cannot contain anything that JSON escapes. */
  bare: 1,
  /** In quotes, with the escapes of JSON. */
  quoted: 2,
  boolean: 3,
  /** A number, or null in place of NaN and infinities. */
  finite: 4,
  moment: 5,
} as const;

export type Form = (typeof form)[keyof typeof form];

/** The text around the fields of a row, and the positions of the fields in the row. */
export interface JsonTemplate {
  readonly open: Buffer;
  readonly close: Buffer;
  /** The text before each value: a comma and its name. */
  readonly heads: readonly Buffer[];
  /**
   * The position of each value in the row. For an object, the position of its key: if that is null, there is no object.
   */
  readonly places: readonly number[];
  readonly forms: readonly Form[];
  readonly objects: readonly (JsonTemplate | null)[];
}

/** Templates by the list of types. Each session keeps one list for each statement that it has prepared. */
const templates = new WeakMap<readonly number[], { readonly plan: JsonPlan; readonly template: JsonTemplate }>();

export function templateFor(plan: JsonPlan, types: readonly number[]): JsonTemplate {
  const known = templates.get(types);
  if (known?.plan === plan) return known.template;
  const template = templateOf(plan.shape, plan.values, types);
  templates.set(types, { plan, template });
  return template;
}

function templateOf(shape: JsonPlan["shape"], values: readonly JsonValue[], types: readonly number[]): JsonTemplate {
  const [open, close] = brackets[shape];
  return {
    open: Buffer.from(open),
    close: Buffer.from(close),
    heads: values.map(({ name }, index) => {
      const comma = index === 0 ? "" : ",";
      return Buffer.from(shape === "object" ? `${comma}${JSON.stringify(name)}:` : comma);
    }),
    places: values.map((value) => ("values" in value ? value.keyAt : value.at)),
    forms: values.map((value) => ("values" in value ? form.asIs : formOf(types[value.at]!, value))),
    objects: values.map((value) => ("values" in value ? templateOf("object", value.values, types) : null)),
  };
}

const brackets = { object: ["{", "}"], list: ["[", "]"], single: ["", ""] } as const;

/**
 * Uses the type of the column in the database, whatever the type in the model is, so that the result is always JSON.
 */
function formOf(type: number, { exact, json }: JsonColumn): Form {
  if (json) return form.asIs;
  switch (type) {
    case oid.int2:
    case oid.int4:
    case oid.int8:
      return exact ? form.bare : form.asIs;
    case oid.float4:
    case oid.float8:
      return exact ? form.bare : form.finite;
    case oid.json:
    case oid.jsonb:
      return form.asIs;
    case oid.bool:
      return form.boolean;
    case oid.timestamp:
    case oid.timestamptz:
      return form.moment;
    case oid.numeric:
    case oid.uuid:
    case oid.date:
    case oid.time:
    case oid.timetz:
      return form.bare;
    default:
      return form.quoted;
  }
}
