import { ValueError } from "../../kit/value-error.js";
import type { Question } from "../../migrations/autodetector.js";
import type { OptionSpecs, OptionValues } from "../arguments.js";
import type { Terminal } from "../terminal.js";

/** Options that answer the questions of `make`. */
export const answerOptions = {
  rename: {
    kind: "list",
    value: "OLD=NEW",
    help: "a table, or column (books.name=title), or enum, that has another name now",
  },
  drop: { kind: "list", value: "NAME", help: "a table, column (books.name) or enum that was removed, not renamed" },
  fill: { kind: "list", value: "COLUMN=SQL", help: "what existing rows get in a column: books.year=0" },
  replace: { kind: "list", value: "VALUE=NEW", help: "what rows get for a value of an enum: status.old=new" },
  yes: { kind: "switch", short: "y", help: "take everything that looks renamed as renamed" },
  input: { kind: "switch", on: true, help: "ask nothing; fail when something is to be asked" },
} as const satisfies OptionSpecs;

/** Answers questions by the options, or else by asking. */
export class Answerer {
  readonly #options: OptionValues<typeof answerOptions>;
  readonly #terminal: Terminal;
  readonly #renames: ReadonlyMap<string, string>;
  readonly #fills: ReadonlyMap<string, string>;
  readonly #replacements: ReadonlyMap<string, string>;
  readonly #used = new Set<string>();

  constructor(options: OptionValues<typeof answerOptions>, terminal: Terminal) {
    this.#options = options;
    this.#terminal = terminal;
    this.#renames = pairs("--rename", options.rename);
    this.#fills = pairs("--fill", options.fill);
    this.#replacements = pairs("--replace", options.replace);
  }

  async answer(question: Question): Promise<boolean | string> {
    const given = this.#given(question);
    if (given !== undefined) return given;
    if (this.#options.input === false || !this.#terminal.interactive) throw unanswered(question);
    return ask(this.#terminal, question);
  }

  /** Refuses options that answered no question: they are most likely mistyped. */
  refuseUnused(): void {
    for (const [flag, names] of [
      ["--rename", this.#renames.keys()],
      ["--fill", this.#fills.keys()],
      ["--replace", this.#replacements.keys()],
    ] as const) {
      const unused = [...names].find((name) => !this.#used.has(`${flag} ${name}`));
      if (unused !== undefined) throw new ValueError(`${flag} ${unused} answers no question: nothing like it changed`);
    }
  }

  #given(question: Question): boolean | string | undefined {
    const name = nameIn(question);
    if (question.kind === "fill") return this.#take("--fill", this.#fills, name);
    if (question.kind === "replaceEnumValue") return this.#take("--replace", this.#replacements, name);
    const to = this.#renames.get(name);
    if (to !== undefined) {
      const same = to === question.to;
      if (same) this.#used.add(`--rename ${name}`);
      return same;
    }
    // Another one was renamed to this.
    const taken = [...this.#renames].some(([from, other]) => other === question.to && besides(from, name));
    if (taken) return false;
    if (this.#options.drop?.includes(name)) return false;
    return this.#options.yes ? true : undefined;
  }

  #take(flag: string, values: ReadonlyMap<string, string>, name: string): string | undefined {
    const value = values.get(name);
    if (value !== undefined) this.#used.add(`${flag} ${name}`);
    return value;
  }
}

/** The name of the thing that a question is about, as the options spell it. */
function nameIn(question: Question): string {
  switch (question.kind) {
    case "renameTable":
    case "renameEnum":
      return question.from;
    case "renameColumn":
      return `${question.table}.${question.from}`;
    case "renameEnumValue":
      return `${question.enum}.${question.from}`;
    case "replaceEnumValue":
      return `${question.enum}.${question.value}`;
    case "fill":
      return `${question.table}.${question.column}`;
  }
}

/** True if two names are in the same table or enum, or if neither has an owner. */
function besides(one: string, other: string): boolean {
  const owner = (name: string): string => name.slice(0, name.lastIndexOf(".") + 1);
  return owner(one) === owner(other);
}

function pairs(flag: string, given: readonly string[] = []): Map<string, string> {
  return new Map(
    given.map((text) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
      if (name === undefined)
        throw new ValueError(`${flag} must be two names or values with = between, not ${JSON.stringify(text)}`);
      return [name, value!];
    }),
  );
}

function unanswered(question: Question): ValueError {
  return new ValueError(`${question.text} Nobody is here to ask: answer with ${flagsFor(question)}`);
}

function flagsFor(question: Question): string {
  const name = nameIn(question);
  if (question.kind === "fill") return `--fill "${name}=SQL", or "${name}=" when the table is empty`;
  if (question.kind === "replaceEnumValue") return `--replace ${name}=${question.values[0] ?? "VALUE"}`;
  return `--rename ${name}=${question.to} or --drop ${name}`;
}

function ask(terminal: Terminal, question: Question): Promise<boolean | string> {
  if (question.kind === "fill") {
    return terminal.ask(`${question.text} SQL such as 0, 'none' or now(); nothing when the table is empty:`, String);
  }
  if (question.kind === "replaceEnumValue") {
    const values = question.values.join(", ");
    return terminal.ask(`${question.text} One of ${values}; nothing when there are no such rows:`, (answer) => {
      if (answer === "" || question.values.includes(answer)) return answer;
      throw new ValueError(`"${answer}" is none of ${values}`);
    });
  }
  return terminal.ask(`${question.text} [y/n]`, (answer) => {
    if (/^y(es)?$/i.test(answer)) return true;
    if (/^n(o)?$/i.test(answer)) return false;
    throw new ValueError("answer y or n");
  });
}
