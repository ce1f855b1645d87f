export { bindDatabase } from "../engines/db/default-database.js";
export type { ModelBody, PartialModelBody } from "../orm/body/body-types.js";
export { nested } from "../orm/body/nested-body.js";
export type { NestedBody } from "../orm/body/nested-body-types.js";
export { partial } from "../orm/body/partial.js";
export { type Unset, unset } from "../orm/compile/json/json-patch.js";
export { strictRelations } from "../orm/database.js";
export { DoesNotExist, FieldError, LazyLoadError, MultipleObjectsReturned, StaleError } from "../orm/errors.js";
export {
  arrayAgg,
  avg,
  boolAnd,
  boolOr,
  corr,
  count,
  max,
  median,
  min,
  mode,
  percentile,
  percentileDisc,
  regrIntercept,
  regrSlope,
  stddev,
  stringAgg,
  sum,
  variance,
} from "../orm/expressions/aggregates.js";
export { when } from "../orm/expressions/cases.js";
export { Expression, excluded, F, type Ordering, raw, test, value } from "../orm/expressions/expression.js";
export {
  abs,
  castTo,
  ceil,
  coalesce,
  concat,
  denseRank,
  exists,
  extract,
  firstValue,
  floor,
  fn,
  greatest,
  lag,
  lastValue,
  lead,
  least,
  length,
  lower,
  now,
  nullIf,
  outer,
  rank,
  replace,
  round,
  rowNumber,
  searchRank,
  subquery,
  substring,
  type TimeUnit,
  trim,
  truncate,
  upper,
} from "../orm/expressions/functions.js";
export { type Condition, Q } from "../orm/expressions/q.js";
export type {
  FieldOptions,
  ManyToManyOptions,
  NumberOptions,
  RelationOptions,
  TextOptions,
} from "../orm/fields/definition.js";
export { field } from "../orm/fields/field.js";
export type { CustomType, Json } from "../orm/fields/field-types.js";
export { mix, softDelete, timestamps } from "../orm/fields/mixins.js";
export { orConflict, orNotFound } from "../orm/http-errors.js";
export type {
  CheckMeta,
  ColumnDefault,
  ColumnKind,
  ColumnMeta,
  ColumnReference,
  ColumnType,
  IndexMeta,
  JsonShape,
  ModelConstructor,
  ModelMeta,
  ReferentialAction,
  RelationMeta,
  UniqueMeta,
  ViewMeta,
} from "../orm/meta.js";
export { Model, type ModelClass, type ModelInstance } from "../orm/model/model.js";
export type { IndexOptions, ModelOptions, UniqueOptions, ViewOptions } from "../orm/model/options.js";
export { type RefreshOptions, View, type ViewClass, type ViewInstance } from "../orm/model/view.js";
export { type ListRouteOptions, listOptions } from "../orm/query/list-options.js";
export type { NestedInput } from "../orm/query/nested-types.js";
export type { ClientParameters, KeysetPageOptions, ListOptions, PageOptions } from "../orm/query/page-input.js";
export { PendingWrite } from "../orm/query/pending-write.js";
export { prefetch } from "../orm/query/prefetches.js";
export { type Manager, QuerySet } from "../orm/query/queryset.js";
export type { CreateInput, UpdateInput } from "../orm/query/row-types.js";
export type { Lazy } from "../orm/relations/lazy.js";
export { RelatedSet } from "../orm/relations/related-set.js";
export type { BulkCreateOptions } from "../orm/run/bulk.js";
export type { HookContext, HookEvent } from "../orm/run/hooks.js";
export { JsonText } from "../orm/run/json.js";
export type { KeysetPage, Page } from "../orm/run/paginate.js";
export { createTables, createTablesSql, dropTables } from "../orm/schema/create-tables.js";
