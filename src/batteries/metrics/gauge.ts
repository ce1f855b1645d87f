import type { Family, MergeRule, Sample } from "./family.js";
import { inBraces } from "./names.js";
import { type Labels, type SeriesOptions, SeriesSet } from "./series.js";

export type GaugeCollect<Label extends string> = (gauge: Gauge<Label>) => number | void | Promise<number | void>;

/** A number that goes up and down. */
export class Gauge<Label extends string = never> {
  readonly #name: string;
  readonly #help: string;
  readonly #merge: MergeRule;
  readonly #collect: GaugeCollect<Label> | undefined;
  readonly #series: SeriesSet<GaugeSeries>;

  /** @internal Made by `app.metrics.gauge()`. */
  constructor(help: string, options: SeriesOptions, merge: MergeRule, collect: GaugeCollect<Label> | undefined) {
    this.#name = options.name;
    this.#help = help;
    this.#merge = merge;
    this.#collect = collect;
    this.#series = new SeriesSet(options, [], () => new GaugeSeries());
  }

  set(value: number): void;
  set(labels: Labels<Label>, value: number): void;
  set(first: number | Labels<Label>, value?: number): void {
    if (typeof first === "object") this.#series.find(first).set(value!);
    else this.#series.find().set(first);
  }

  inc(by?: number): void;
  inc(labels: Labels<Label>, by?: number): void;
  inc(first?: number | Labels<Label>, by?: number): void {
    if (typeof first === "object") this.#series.find(first).inc(by);
    else this.#series.find().inc(first);
  }

  dec(by?: number): void;
  dec(labels: Labels<Label>, by?: number): void;
  dec(first?: number | Labels<Label>, by?: number): void {
    if (typeof first === "object") this.#series.find(first).dec(by);
    else this.#series.find().dec(first);
  }

  /** The series with these labels, to keep where it is needed often. */
  labels(labels: Labels<Label>): GaugeSeries {
    return this.#series.find(labels);
  }

  /** @internal */
  async collect(): Promise<Family> {
    const value = await this.#collect?.(this);
    if (typeof value === "number") this.#series.find().set(value);
    const samples = [...this.#series.entries()].map(([labels, series]): Sample => [inBraces(labels), series.value]);
    return { name: this.#name, help: this.#help, type: "gauge", merge: this.#merge, samples };
  }
}

export class GaugeSeries {
  /** @internal */
  value = 0;

  set(value: number): void {
    this.value = Number(value);
  }

  inc(by = 1): void {
    this.value += by;
  }

  dec(by = 1): void {
    this.value -= by;
  }
}
