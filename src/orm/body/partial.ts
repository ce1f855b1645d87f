import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import {
  type BodyResult,
  type BodyValidator,
  bodyValidatorSymbol,
  type DescribedSchema,
  jsonSchemaSymbol,
} from "../../validation/body-validator.js";
import type { ModelMeta } from "../meta.js";
import type { PartialModelBody } from "./body-types.js";
import { modelBodyReader } from "./model-body.js";
import { partialSchema } from "./model-schema.js";

/** A body in which every field of a model is optional, for PATCH: `{ body: partial(Book) }`. */
export function partial<M extends object>(model: {
  new (...args: never[]): M;
  readonly meta: ModelMeta;
}): BodyValidator<PartialModelBody<M>> & DescribedSchema {
  if (typeof model !== "function" || !("meta" in model)) {
    throw new ValueError(`partial() takes a model's class, not ${show(model)}`);
  }
  return {
    [bodyValidatorSymbol]: (bytes, limit) =>
      modelBodyReader(model.meta, "partial")(bytes, limit) as BodyResult<PartialModelBody<M>>,
    [jsonSchemaSymbol]: () => partialSchema(model.meta),
  };
}
