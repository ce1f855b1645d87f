import type { ObjectType } from "../build/object-type.js";
import type { ExposableModel, ModelTypeOptions } from "./options.js";

/** A model that was given a type, before the start. */
export interface ExposedModel {
  readonly model: ExposableModel;
  readonly options: ModelTypeOptions<object>;
  readonly type: ObjectType<object>;
}
