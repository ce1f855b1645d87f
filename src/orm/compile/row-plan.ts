import type { ColumnMeta, ColumnType, ModelMeta, RelationMeta } from "../meta.js";

/** Where in a row of the result what is: models are built by position. */
export interface RowPlan {
  readonly meta: ModelMeta;
  /** The columns that were selected, from `at` on. */
  readonly columns: readonly ColumnMeta[];
  readonly at: number;
  readonly related: readonly RelatedPlan[];
  readonly extras: readonly ExtraPlan[];
}

export interface RelatedPlan extends RowPlan {
  readonly relation: RelationMeta;
  /** Where the key is that tells whether there is a row at all. */
  readonly keyAt: number;
}

export interface ExtraPlan {
  readonly name: string;
  readonly at: number;
  readonly type: ColumnType | undefined;
}
