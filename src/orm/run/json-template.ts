import { oid } from "../../engines/db/values/oids.js";
import type { JsonPlan, JsonValue } from "../compile/json-plan.js";

/** How the text of a field is written as JSON. */
export const form = {
  /** It is JSON. */
  asIs: 0,
  /** In quotes; there can be nothing in it that JSON escapes. */
  bare: 1,
  /** In quotes, and what JSON escapes is escaped. */
  quoted: 2,
  boolean: 3,
  /** A number, or null in place of NaN and infinities. */
  finite: 4,
  moment: 5,
} as const;

export type Form = (typeof form)[keyof typeof form];

/** What stands around the fields of a row, and where in the row they are. */
export interface JsonTemplate {
  readonly open: Buffer;
  readonly close: Buffer;
  /** What comes before each value: a comma, its name. */
  readonly heads: readonly Buffer[];
  /** The field of each value; of an object, the one that tells whether it is there. */
  readonly places: readonly number[];
  readonly forms: readonly Form[];
  readonly objects: readonly (JsonTemplate | null)[];
}

/** By the list of types, of which every session that has prepared a statement keeps one. */
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
    forms: values.map((value) => ("values" in value ? form.asIs : formOf(types[value.at]!, value.exact))),
    objects: values.map((value) => ("values" in value ? templateOf("object", value.values, types) : null)),
  };
}

const brackets = { object: ["{", "}"], list: ["[", "]"], single: ["", ""] } as const;

/** By the type that the column really has, whatever the model takes it for: what is written is JSON in any case. */
function formOf(type: number, exact: boolean): Form {
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
