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

/** The positions of values in a row, by the names of fields and annotations of the model itself. */
export function positionsIn({ columns, at, extras }: RowPlan): Map<string, number> {
  const own = columns.flatMap(({ name, attribute }, index) =>
    [name, attribute].map((key) => [key, at + index] as const),
  );
  return new Map([...own, ...extras.map((extra) => [extra.name, extra.at] as const)]);
}
