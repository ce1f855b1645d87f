import type { ColumnMeta, ColumnType, ModelMeta, RelationMeta } from "../meta.js";

/** The positions of values in a row of the result: models are built by position. */
export interface RowPlan {
  readonly meta: ModelMeta;
  /** The selected columns, from position `at` on. */
  readonly columns: readonly ColumnMeta[];
  readonly at: number;
  readonly related: readonly RelatedPlan[];
  readonly extras: readonly ExtraPlan[];
}

export interface RelatedPlan extends RowPlan {
  readonly relation: RelationMeta;
  /** The position of the key, which is null if there is no row. */
  readonly keyAt: number;
}

export interface ExtraPlan {
  readonly name: string;
  readonly at: number;
  readonly type: ColumnType | undefined;
}
