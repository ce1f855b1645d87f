/** What a row of texts, as PostgreSQL sends it, becomes as JSON. */
export interface JsonPlan {
  /** An object, a list, or the value itself of the only column. */
  readonly shape: "object" | "list" | "single";
  readonly values: readonly JsonValue[];
}

export type JsonValue = JsonColumn | JsonRelated;

export interface JsonColumn {
  readonly name: string;
  readonly at: number;
  /** A number that is written as a string: most readers of JSON would round it. */
  readonly exact: boolean;
}

export interface JsonRelated {
  readonly name: string;
  /** Where the key is that tells whether there is a row at all. */
  readonly keyAt: number;
  readonly values: readonly JsonValue[];
}
