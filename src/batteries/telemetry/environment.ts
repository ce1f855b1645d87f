import { percentDecoded } from "../../kit/encoding.js";
/** The standard `OTEL_*` variables. By their specification a wrong value is reported and ignored, and never an error. */
export class Environment {
  /** Values that were ignored, in words. They are not shown: headers hold keys. */
  readonly warnings: string[] = [];

  constructor(private readonly variables: NodeJS.ProcessEnv = process.env) {}

  /** The value; an empty one counts as not set. */
  text(name: string): string | undefined {
    const value = this.variables[name]?.trim();
    return value === "" ? undefined : value;
  }

  boolean(name: string): boolean | undefined {
    return this.#read(name, "true or false", (text) => ({ true: true, false: false })[text.toLowerCase()]);
  }

  number(name: string, min: number, max: number): number | undefined {
    return this.#read(name, `a number from ${min} to ${max}`, (text) => {
      const value = Number(text);
      return value >= min && value <= max ? value : undefined;
    });
  }

  oneOf<const T extends string>(name: string, allowed: readonly T[]): T | undefined {
    return this.#read(name, `one of ${allowed.join(", ")}`, (text) =>
      allowed.find((item) => item === text.toLowerCase()),
    );
  }

  list(name: string): string[] | undefined {
    return this.text(name)
      ?.split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  }

  /** Names and values, as in W3C Baggage: `key1=value1,key2=value2`, percent-encoded. */
  pairs(name: string): Record<string, string> | undefined {
    const items = this.list(name);
    if (items === undefined) return undefined;
    const pairs: Record<string, string> = {};
    for (const item of items) {
      const equals = item.indexOf("=");
      const value = equals > 0 ? percentDecoded(item.slice(equals + 1).trim()) : null;
      if (value === null) this.#warn(name, "a list of names and values: a=b,c=d");
      else pairs[item.slice(0, equals).trim()] = value;
    }
    return pairs;
  }

  /** A variable of one signal, else that of all: `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT`, `OTEL_EXPORTER_OTLP_TIMEOUT`. */
  ofSignal<T>(signal: string, name: string, read: (name: string) => T | undefined): T | undefined {
    return read(`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${name}`) ?? read(`OTEL_EXPORTER_OTLP_${name}`);
  }

  #read<T>(name: string, allowed: string, parse: (text: string) => T | undefined): T | undefined {
    const text = this.text(name);
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) this.#warn(name, allowed);
    return value;
  }

  #warn(name: string, allowed: string): void {
    const warning = `${name} must be ${allowed}; its value is ignored`;
    if (!this.warnings.includes(warning)) this.warnings.push(warning);
  }
}
