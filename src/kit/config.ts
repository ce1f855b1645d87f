import type { ConfigOf } from "./config-of.js";
import { camelCase, type EitherSpelling, type SnakeCase, snakeCase } from "./names.js";
import { type Check, isPlainObject, listedNames, show } from "./options.js";
import { isRecord } from "./own-property.js";
import { didYouMean } from "./suggest.js";
import { type Duration, durationForm, inWords, isDuration, milliseconds, readSeconds } from "./time/duration.js";
import { ValueError } from "./value-error.js";

/**
 * Options are declared once. A declaration has the check and the default of each option, and a comment above it:
 *
 *     const corsOptions = options("enableCors()", {
 *       // Sites that may read responses.
 *       origins: option(isOrigins, "*"),
 *       // Time for which a browser may cache the response to a preflight request.
 *       maxAge: option.duration("1d"),
 *     }, { order: ["origins"] });
 *
 * The types of the options and of the settings, both spellings, the positional order of the contract, the errors and the
 * tables in docs/ come from it. Editors show the comment (as JSDoc) at every use, because the types are mapped, not copied.
 */
export interface Option<Given, Setting> {
  readonly check: Check<Given>;
  /** The setting if the option is not given. */
  readonly fallback: Setting;
  readonly isRequired?: boolean;
  /** The value is never shown: not in messages, and not by `console.log`. */
  readonly isSecret?: boolean;
  /** The default in words, for the docs, where the value does not say it. */
  readonly shownDefault?: string;
  /** The setting of a given value. */
  read?(given: Given): Setting;
}

export type Fields = { readonly [name: string]: Option<unknown, unknown> };

/** The options as users give them, in camel case. */
export type OptionsOf<F> = {
  readonly [K in keyof F]?: (F[K] extends Option<infer Given, infer _> ? Given : never) | undefined;
};

/** The settings: every option, with its default. */
export type SettingsOf<F> = { readonly [K in keyof F]: F[K] extends Option<infer _, infer Setting> ? Setting : never };

/** The arguments of a call: one object of options in either spelling, or the positional arguments of the contract. */
export type ArgumentsOf<F, Order extends readonly unknown[]> = Order extends readonly [infer First, ...infer Rest]
  ? [firstOrOptions?: GivenOf<F, First> | EitherSpelling<OptionsOf<F>> | null, ...rest: PositionsOf<F, Rest>]
  : [options?: EitherSpelling<OptionsOf<F>> | null];

type PositionsOf<F, Order extends readonly unknown[]> = { [I in keyof Order]?: GivenOf<F, Order[I]> | null };
type GivenOf<F, Name> = Name extends keyof F ? OptionsOf<F>[Name] : never;

interface Shape<F, Order> {
  /** The positional order of the contract. */
  readonly order?: Order;
  /** Checks options against each other, and returns settings that depend on others. `given` has only what was given. */
  refine?(settings: SettingsOf<F>, given: Partial<SettingsOf<F>>): Partial<SettingsOf<F>> | void;
  /** The options that have no effect beside these settings: the reason of each, and the cure. */
  idle?(settings: SettingsOf<F>): { readonly [K in keyof F]?: string | false };
}

export interface OptionSet<F> {
  /** The call or class, for messages. */
  readonly owner: string;
  readonly fields: F;
  readonly order: readonly string[];
  /**
   * Reads the arguments of a call. Throws a `ValueError` that names the option, what was given and what is allowed. `place`
   * is named in place of the owner, where options stand in many places.
   */
  read(args: readonly unknown[], place?: string): SettingsOf<F>;
  /** The same without defaults, for options over those of another place. */
  readGiven(args: readonly unknown[], place?: string): Partial<SettingsOf<F>>;
  /**
   * A sentence for each option that has another value than its default, and no effect; for the `review` of features. None
   * for null: the feature is not enabled.
   */
  idle(settings: SettingsOf<F> | null): string[];
}

export function options<F extends Fields, const Order extends readonly (keyof F & string)[] = []>(
  owner: string,
  fields: F,
  shape: Shape<F, Order> = {},
): OptionSet<F> {
  const order: readonly string[] = shape.order ?? [];
  const readGiven = (args: readonly unknown[], place = owner): Partial<SettingsOf<F>> =>
    readFields(place, named(place, args, order, fields), fields) as Partial<SettingsOf<F>>;
  const read = (args: readonly unknown[], place = owner): SettingsOf<F> => {
    const given: Record<string, unknown> = readGiven(args, place);
    const settings: Record<string, unknown> = {};
    for (const name in fields) {
      const { fallback, isRequired } = fields[name]!;
      if (Object.hasOwn(given, name)) settings[name] = given[name];
      else if (isRequired) throw new ValueError(`option '${name}' is required in ${place}`);
      else settings[name] = fallback;
    }
    const refined = shape.refine?.(settings as SettingsOf<F>, given as Partial<SettingsOf<F>>);
    return { ...settings, ...refined } as SettingsOf<F>;
  };
  const idle = (settings: SettingsOf<F> | null): string[] =>
    Object.entries<string | false | undefined>((settings && shape.idle?.(settings)) ?? {}).flatMap(([name, reason]) =>
      reason && settings![name] !== fields[name]!.fallback
        ? [`option '${name}' in ${owner} has no effect: ${reason}`]
        : [],
    );
  return { owner, fields, order, read, readGiven, idle };
}

/** A reader of options without defaults, whose type is written by hand because it is generic or has another purpose. */
export function checkedOptions<T>(
  checks: {
    readonly [K in keyof T]-?: Check;
  },
): (place: string, given: unknown) => Partial<T> {
  const fields = Object.fromEntries(Object.entries<Check>(checks).map(([name, check]) => [name, option(check)]));
  const { readGiven } = options("", fields);
  return (place, given) => readGiven([given], place) as Partial<T>;
}

/** An instance of a config class: its settings in both spellings. */
export type ConfigInstance<Name extends string, F> = SettingsOf<F> & SnakeSettings<F> & ConfigOf<Name>;
type SnakeSettings<F> = { readonly [K in keyof F & string as SnakeCase<K>]: SettingsOf<F>[K] };

export interface ConfigClass<Name extends string, F extends Fields, Order extends readonly unknown[]> {
  new (...given: ArgumentsOf<F, Order>): ConfigInstance<Name, F>;
  /** The declaration of its options. */
  readonly options: OptionSet<F>;
  /** Returns the first argument if it is such a config; else makes one of the arguments. */
  from<Instance>(this: new (...given: ArgumentsOf<F, Order>) => Instance, given: readonly unknown[]): Instance;
}

/** A class of the contract for a set of options: `class JwtConfig extends config("JwtConfig", { ... }) {}`. */
export function config<
  const Name extends string,
  F extends Fields,
  const Order extends readonly (keyof F & string)[] = [],
>(name: Name, fields: F, shape: Shape<F, Order> = {}): ConfigClass<Name, F, Order> {
  const declared = options(name, fields, shape);
  class Config {
    constructor(...given: readonly unknown[]) {
      const settings: Record<string, unknown> = declared.read(given);
      for (const [key, { isSecret }] of Object.entries(fields)) {
        Object.defineProperty(this, key, { value: settings[key], enumerable: !isSecret });
      }
    }
  }
  for (const key of Object.keys(fields)) {
    if (snakeCase(key) === key) continue;
    Object.defineProperty(Config.prototype, snakeCase(key), {
      get(this: Record<string, unknown>) {
        return this[key];
      },
    });
  }
  function from(this: new (...given: readonly unknown[]) => unknown, given: readonly unknown[]): unknown {
    return configFrom(this, given);
  }
  return Object.assign(Config, { options: declared, from }) as unknown as ConfigClass<Name, F, Order>;
}

/** The first argument if it is an instance of the class; else one made of the arguments. */
export function configFrom<Config, Given extends readonly unknown[]>(
  Class: new (...given: Given) => Config,
  given: readonly unknown[],
): Config {
  return given[0] instanceof Class ? given[0] : new Class(...(given as Given));
}

/** An option that can be left out; without a default its setting is then undefined. */
export function option<T>(check: Check<T>): Option<T, T | undefined>;
export function option<T>(check: Check<T>, fallback: NoInfer<T>, shownDefault?: string): Option<T, T>;
export function option<T>(check: Check<T>, fallback?: T, shownDefault?: string): Option<T, T | undefined> {
  return { check, fallback, ...(shownDefault !== undefined && { shownDefault }) };
}

option.required = requiredOption;

function requiredOption<T>(check: Check<T>): Option<T, T>;
function requiredOption<T, S>(check: Check<T>, read: (given: T) => S): Option<T, S>;
function requiredOption<T, S>(check: Check<T>, read?: (given: T) => S): Option<T, S> {
  return { check, fallback: undefined as S, isRequired: true, ...(read && { read }) };
}

/** An option whose setting is made from the given value. */
option.made = <T, S>(check: Check<T>, read: (given: T) => S, fallback: S, shownDefault?: string): Option<T, S> => ({
  check,
  read,
  fallback,
  ...(shownDefault !== undefined && { shownDefault }),
});

/** An option whose value is never shown. */
option.secret = secretOption;

function secretOption<T>(check: Check<T>): Option<T, T | undefined>;
function secretOption<T, S>(check: Check<T>, read: (given: T) => S): Option<T, S | undefined>;
function secretOption<T, S>(check: Check<T>, read: (given: T) => S, fallback: S): Option<T, S>;
function secretOption<T, S>(check: Check<T>, read?: (given: T) => S, fallback?: S): Option<T, S | undefined> {
  return { check, fallback, isSecret: true, ...(read && { read }) };
}

/** A duration; the setting is a number of seconds. `null` as default: undefined if not given. */
option.duration = durationOption((value) => value);

/** A duration whose name ends in `Ms`: a number counts milliseconds, and so does the setting. */
option.milliseconds = durationOption(milliseconds, 0.001);

interface DurationOption {
  (fallback: Duration, min?: Duration, max?: Duration): Option<Duration, number>;
  (fallback: null, min?: Duration, max?: Duration): Option<Duration, number | undefined>;
}

function durationOption(setting: (seconds: number) => number, unit = 1): DurationOption {
  const inSeconds = (value: unknown): number | undefined =>
    typeof value === "number" ? (Number.isFinite(value) ? value * unit : undefined) : readSeconds(value);
  const read = (value: unknown): number => setting(inSeconds(value)!);
  const build = (
    fallback: Duration | null,
    min: Duration = 0,
    max?: Duration,
  ): Option<Duration, number | undefined> => {
    const inBounds = isDuration(inSeconds(min), max === undefined ? undefined : inSeconds(max));
    const form = unit === 1 ? durationForm : `milli${durationForm}`;
    const check: Check<Duration> = (value) => {
      const given = inSeconds(value);
      return given === undefined ? `a duration: ${form}` : inBounds(given);
    };
    if (fallback === null) return { check, read, fallback: undefined };
    return { check, read, fallback: read(fallback), shownDefault: inWords(inSeconds(fallback)!) };
  };
  return build as DurationOption;
}

/** The arguments as an object by name. A single plain object is the options themselves. */
function named(
  owner: string,
  args: readonly unknown[],
  order: readonly string[],
  fields: Fields,
): Readonly<Record<string, unknown>> {
  const [first] = args;
  if (args.length <= 1 && (first === undefined || first === null)) return {};
  if (args.length === 1 && isPlainObject(first)) return first;
  if (order.length === 0) {
    // Without positions nothing else can be meant: an instance of a class of settings, too.
    const inherited =
      args.length === 1 && isRecord(first) && !(first instanceof Error) ? withInherited(first, fields) : null;
    if (inherited !== null) return inherited;
    const cure = first instanceof Promise ? ": is an await missing?" : listedNames(Object.keys(fields));
    throw new ValueError(`${owner} takes an object of options, not ${show(first)}${cure}`);
  }
  if (args.length > order.length) {
    const most = order.length === 1 ? "1 argument" : `${order.length} arguments`;
    throw new ValueError(`${owner} takes at most ${most}: ${order.join(", ")}`);
  }
  return Object.fromEntries(args.map((value, index) => [order[index]!, value]));
}

/** The own values of an object and the options that it inherits, such as getters of its class; null if it has no option. */
function withInherited(given: Record<string, unknown>, fields: Fields): Record<string, unknown> | null {
  const names = Object.keys(fields).flatMap((field) => [field, snakeCase(field)]);
  const found = names.filter((name) => name in given && !(name in Object.prototype));
  if (found.length === 0 && names.length > 0) return null;
  return { ...Object.fromEntries(found.map((name) => [name, given[name]])), ...given };
}

function readFields(owner: string, given: Readonly<Record<string, unknown>>, fields: Fields): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const name = Object.hasOwn(fields, key) ? key : camelCase(key);
    if (!Object.hasOwn(fields, name)) {
      const known = Object.keys(fields).map((field) => (key.includes("_") ? snakeCase(field) : field));
      throw new ValueError(`unknown option '${key}' in ${owner}${didYouMean(key, known) || listedNames(known)}`);
    }
    const { check, read, isSecret } = fields[name]!;
    if (value === undefined || (value === null && check(null) !== undefined)) continue;
    const allowed = check(value);
    if (allowed !== undefined) {
      const shown = isSecret ? "" : `, not ${show(value)}`;
      throw new ValueError(`option '${key}' in ${owner} must be ${allowed}${shown}`);
    }
    if (Object.hasOwn(result, name)) throw new ValueError(`option '${key}' in ${owner} is given in both spellings`);
    result[name] = read ? read(value) : value;
  }
  return result;
}
