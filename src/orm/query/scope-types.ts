/** The types of querysets of an application's class, whose methods stay when the type of the rows changes. */

import type { Subquery } from "../expressions/expression.js";

/** The queryset after a change of its rows. `Now` is the queryset without the application's methods, before the change. */
export type Scoped<This, Now, Next> = [Now] extends [This] ? Next : Next & Scopes<This, Next>;

/** The application's methods. Those that return a queryset return the changed one. */
type Scopes<This, Next> = {
  readonly [K in Exclude<keyof This, keyof Next>]: This[K] extends (...args: infer Args) => Subquery
    ? (...args: Args) => Next & Scopes<This, Next>
    : This[K];
};
