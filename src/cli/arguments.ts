import { camelCase, snakeCase } from "../kit/names.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import { readSwitch } from "../server/command-line.js";

/** One option of a command. Its flag is its name with dashes: `dryRun` is `--dry-run`. */
export interface OptionSpec {
  /** `switch` needs no value and can be negated (`--no-input`); `list` can be given several times. */
  readonly kind: "text" | "number" | "switch" | "list";
  readonly help: string;
  /** The placeholder for the value in the help: `FILE`. */
  readonly value?: string;
  /** One letter that means the same: `-y`. */
  readonly short?: string;
  /** A switch that is on by itself: the help shows how to turn it off. */
  readonly on?: boolean;
  /** An option of other commands that this one stands for here. */
  readonly insteadOf?: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type ValueOf<Spec extends OptionSpec> = Spec["kind"] extends "switch"
  ? boolean
  : Spec["kind"] extends "number"
    ? number
    : Spec["kind"] extends "list"
      ? readonly string[]
      : string;

/** The options that were given; the others are absent. */
export type OptionValues<Specs extends OptionSpecs> = { readonly [K in keyof Specs]?: ValueOf<Specs[K]> };

export interface ParsedArguments<Specs extends OptionSpecs> {
  readonly options: OptionValues<Specs>;
  readonly args: readonly string[];
}

/** Reads the arguments of a command: everything that is not one of its options is an error. After `--` come no options. */
export function parseArguments<Specs extends OptionSpecs>(
  owner: string,
  given: readonly string[],
  specs: Specs,
): ParsedArguments<Specs> {
  const options: Record<string, unknown> = {};
  const args: string[] = [];
  for (let i = 0; i < given.length; i++) {
    const argument = given[i]!;
    if (argument === "--") {
      args.push(...given.slice(i + 1));
      break;
    }
    if (!argument.startsWith("-") || argument === "-") {
      args.push(argument);
      continue;
    }
    const { name, negated, attached } = readFlag(owner, argument, specs);
    const spec = specs[name]!;
    const flag = flagOf(name);
    if (spec.kind === "switch") {
      options[name] = switchValue(flag, attached) !== negated;
      continue;
    }
    const text = attached ?? given[++i];
    if (text === undefined || (attached === undefined && /^--?[a-z]/.test(text))) {
      throw new ValueError(`${flag} needs a value: ${flag} ${spec.value ?? "VALUE"}`);
    }
    if (spec.kind === "list") options[name] = [...((options[name] as string[] | undefined) ?? []), text];
    else if (options[name] !== undefined) throw new ValueError(`${flag} is given twice`);
    else options[name] = spec.kind === "number" ? readNumber(flag, text) : text;
  }
  return { options: options as OptionValues<Specs>, args };
}

/** `dryRun` is `--dry-run`. */
function flagOf(name: string): string {
  return `--${snakeCase(name).replaceAll("_", "-")}`;
}

/** The flag in lists: a switch that is on by itself is shown with the flag that turns it off. */
export function shownFlag(name: string, { on }: OptionSpec): string {
  return on ? flagOf(name).replace("--", "--no-") : flagOf(name);
}

interface Flag {
  readonly name: string;
  readonly negated: boolean;
  readonly attached: string | undefined;
}

function readFlag(owner: string, argument: string, specs: OptionSpecs): Flag {
  const [, letter] = /^-([A-Za-z])$/.exec(argument) ?? [];
  const short = Object.keys(specs).find((name) => letter !== undefined && specs[name]!.short === letter);
  if (short !== undefined) return { name: short, negated: false, attached: undefined };
  const [, text = "", attached] = /^--([^=]*)(?:=(.*))?$/s.exec(argument) ?? [];
  const name = camelCase(text.replaceAll("-", "_"));
  if (Object.hasOwn(specs, name) && flagOf(name) === `--${text}`) return { name, negated: false, attached };
  const positive = camelCase(text.replace(/^no-/, "").replaceAll("-", "_"));
  if (text.startsWith("no-") && specs[positive]?.kind === "switch") return { name: positive, negated: true, attached };
  const shown = argument.split("=", 1)[0]!;
  const [instead, spec] = Object.entries(specs).find(([, { insteadOf }]) => insteadOf === name) ?? [];
  const cure = spec ? `: it takes ${flagOf(instead!)} ${spec.value}` : didYouMean(shown, flagsOf(specs));
  throw new ValueError(`unknown option '${shown}' of ${owner}${cure}`);
}

function flagsOf(specs: OptionSpecs): string[] {
  return Object.entries(specs).map(([name, spec]) => shownFlag(name, spec));
}

function switchValue(flag: string, attached: string | undefined): boolean {
  const value = attached === undefined ? true : readSwitch(attached);
  if (value === undefined) throw new ValueError(`${flag} must be true or false, not ${JSON.stringify(attached)}`);
  return value;
}

function readNumber(flag: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new ValueError(`${flag} must be a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
}
