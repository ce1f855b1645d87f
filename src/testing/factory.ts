import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import type { ModelMeta } from "../orm/meta.js";
import type { NestedInput } from "../orm/query/nested-types.js";

/** A model's class, as a factory uses it. */
export interface FactoryModel<M> {
  new (...args: never[]): M;
  readonly meta: ModelMeta;
  readonly objects: {
    create(values: never): Promise<unknown>;
    bulkCreate(rows: never): Promise<unknown[]>;
  };
}

/**
 * The values of a new row. `number` counts the rows of the factory from 1, for values that must be unique. Parameters of
 * this type take part in no inference (`NoInfer`): to find a model by its values, TypeScript 7 works without an end.
 */
export type FactoryValues<M> = (number: number) => NestedInput<M>;

/** Creates rows for tests, with values for everything that a test does not name. */
export class Factory<in out M> {
  readonly #model: FactoryModel<M>;
  readonly #make: FactoryValues<M>;
  readonly #counter: { last: number };

  constructor(model: FactoryModel<M>, make: NoInfer<FactoryValues<M>>, counter = { last: 0 }) {
    this.#model = model;
    this.#make = make;
    this.#counter = counter;
  }

  /** The values of a new row, without creating it: as a related row of another one, or as the body of a request. */
  values(given?: Partial<NestedInput<M>>): NestedInput<M> {
    const { meta } = this.#model;
    // A relation may be given under either of its names.
    const named = new Set(Object.keys(given ?? {}).map((key) => meta.column(key)?.name ?? key));
    const made = Object.entries(this.#make(++this.#counter.last) as object);
    const rest = made.filter(([key]) => !named.has(meta.column(key)?.name ?? key));
    return { ...Object.fromEntries(rest), ...given } as unknown as NestedInput<M>;
  }

  async create(given?: Partial<NestedInput<M>>): Promise<M> {
    return (await this.#model.objects.create(this.values(given) as never)) as M;
  }

  /** Creates several rows, with one INSERT for each level of related rows. */
  async createMany(count: number, given?: Partial<NestedInput<M>>): Promise<M[]> {
    const rows = Array.from({ length: count }, () => this.values(given));
    return (await this.#model.objects.bulkCreate(rows as never)) as M[];
  }

  /** The same factory with other values: `const sold = books.with({ status: "sold_out" })`. */
  with(given: Partial<NestedInput<M>>): Factory<M> {
    const values = (): NestedInput<M> => this.values(given);
    return new Factory(this.#model, values, { last: 0 });
  }
}

/** A factory of rows for tests: `factory(Book, (n) => ({ title: `Book ${n}`, author: authors.values() }))`. */
export function factory<M>(model: FactoryModel<M>, values: NoInfer<FactoryValues<M>>): Factory<M> {
  if (typeof model !== "function" || !("meta" in model))
    throw new ValueError(`factory() takes a model's class, not ${show(model)}`);
  if (typeof values !== "function") throw new ValueError("factory() takes a function that returns the values of a row");
  return new Factory(model, values);
}
