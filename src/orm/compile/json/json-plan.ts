/** The JSON of a row, whose values PostgreSQL sends as text. */
export interface JsonPlan {
  /** An object, a list, or the value of the only column. */
  readonly shape: "object" | "list" | "single";
  readonly values: readonly JsonValue[];
}

export type JsonValue = JsonColumn | JsonRelated;

export interface JsonColumn {
  readonly name: string;
  readonly at: number;
  /** True for a number that is written as a string, because most JSON parsers would round it. */
  readonly exact: boolean;
  /** True for a text that is JSON. */
  readonly json: boolean;
}

export interface JsonRelated {
  readonly name: string;
  /** The position of the key, which is null if there is no row. */
  readonly keyAt: number;
  readonly values: readonly JsonValue[];
}
