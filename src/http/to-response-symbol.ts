/**
 * A value with a method under this symbol makes its own response. Querysets and models have one, so that the pipeline
 * does not import the ORM.
 */
export const toResponseSymbol: unique symbol = Symbol.for("stoa.toResponse");
