import { ValueError } from "../../kit/value-error.js";
import { checkLabelNames, label } from "./names.js";

/** The values of a metric's labels. */
export type Labels<Name extends string> = Readonly<Record<Name, string | number | boolean>>;

export interface SeriesOptions {
  readonly name: string;
  readonly labels: readonly string[];
  readonly maxSeries: number;
  /** Called once, when there are more series than allowed. */
  readonly onOverflow: (message: string) => void;
}

/**
 * The series of one metric by the values of its labels. Their number is bounded, because values may come from outside
 * and every series costs memory here and in the metrics database. Beyond the bound all share one series with the label
 * value "other".
 */
export class SeriesSet<State> {
  readonly #options: SeriesOptions;
  readonly #create: () => State;
  readonly #series = new Map<string, State>();
  #other: State | null = null;

  constructor(options: SeriesOptions, reserved: readonly string[], create: () => State) {
    checkLabelNames(options.name, options.labels, reserved);
    this.#options = options;
    this.#create = create;
    // A series must exist from the start: otherwise its first increase is not visible.
    if (options.labels.length === 0) this.#series.set("", create());
  }

  find(values?: Labels<string>): State {
    const key = this.#key(values);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= this.#options.maxSeries) return this.#overflow();
    const made = this.#create();
    this.#series.set(key, made);
    return made;
  }

  /** Rendered labels and state of each. */
  entries(): Iterable<readonly [labels: string, state: State]> {
    return this.#series;
  }

  #key(values: Labels<string> | undefined): string {
    const { name, labels } = this.#options;
    const given = values === undefined ? 0 : Object.keys(values).length;
    const missing = labels.find((wanted) => values?.[wanted] === undefined);
    if (missing !== undefined || given !== labels.length) {
      const wanted = labels.length === 0 ? "no labels" : `the labels ${labels.join(", ")}`;
      throw new ValueError(
        `the metric ${name} has ${wanted}${missing === undefined ? "" : `; '${missing}' is missing`}`,
      );
    }
    if (labels.length === 1) return label(labels[0]!, values![labels[0]!]);
    return labels.map((each) => label(each, values![each])).join(",");
  }

  #overflow(): State {
    if (this.#other === null) {
      const { name, labels, maxSeries, onOverflow } = this.#options;
      const key = labels.map((each) => label(each, "other")).join(",");
      this.#other = this.#series.get(key) ?? this.#create();
      this.#series.set(key, this.#other);
      onOverflow(`the metric ${name} has more than ${maxSeries} series; further ones are counted as "other"`);
    }
    return this.#other;
  }
}
