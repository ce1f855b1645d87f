import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageFolder } from "../kit/package-folder.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import { type OptionSpecs, parseArguments } from "./arguments.js";
import type { AnyCommand, CallBase, Command, CommandCall, CommandGroup, CommandTable } from "./command.js";
import { failureDetails, failureLine } from "./failure.js";
import { commandHelp, groupHelp } from "./help.js";

const summary = "Stoa, a web application framework for TypeScript.";

/** Options of every command. */
export const common = {
  verbose: { kind: "switch", help: "show the stack and the statement of an error" },
  help: { kind: "switch", short: "h", help: "show this text" },
} as const satisfies OptionSpecs;

/** Finds the command, reads its options and runs it. Resolves to the exit code; never rejects. */
export function runCli(given: readonly string[], commands: CommandTable, call: CallBase): Promise<number> {
  return runProgram("stoa", given, { summary, commands }, call);
}

/** Runs a program that is one command, or a group of them. Resolves to the exit code; never rejects. */
export async function runProgram(
  name: string,
  given: readonly string[],
  program: AnyCommand | CommandGroup,
  call: CallBase,
): Promise<number> {
  const { terminal } = call;
  try {
    const commands = "commands" in program ? program.commands : {};
    return await runFound(name, given, program, { ...call, commands });
  } catch (error) {
    terminal.note(`${name}: ${failureLine(error)}`);
    if (given.includes("--verbose")) terminal.note(failureDetails(error));
    return 1;
  }
}

async function runFound(
  name: string,
  given: readonly string[],
  found: AnyCommand | CommandGroup,
  call: Omit<CommandCall, "options" | "args">,
): Promise<number> {
  return "commands" in found ? runGroup(name, given, found, call) : runCommand(name, given, found, call);
}

async function runGroup(
  path: string,
  given: readonly string[],
  group: CommandGroup,
  call: Omit<CommandCall, "options" | "args">,
): Promise<number> {
  const [word, ...rest] = given;
  const { terminal } = call;
  if (word === undefined || word === "help" || word === "--help" || word === "-h") {
    terminal.print(groupHelp(path, group.summary, group.commands));
    return word === undefined ? 1 : 0;
  }
  if (word === "--version" && path === "stoa") {
    terminal.print(await version());
    return 0;
  }
  const entry = Object.hasOwn(group.commands, word) ? group.commands[word] : undefined;
  if (entry === undefined) {
    const what = word.startsWith("-") ? "a command comes first, not the option" : "there is no command";
    throw new ValueError(`${what} '${path} ${word}'${didYouMean(word, Object.keys(group.commands))}`);
  }
  return runFound(`${path} ${word}`, rest, await entry.load(), call);
}

async function runCommand(
  name: string,
  given: readonly string[],
  found: AnyCommand,
  call: Omit<CommandCall, "options" | "args">,
): Promise<number> {
  const command = found as Command;
  const { options, args } = parseArguments(name, given, { ...command.options, ...common });
  if (options["help"] === true) {
    call.terminal.print(commandHelp(name, command, common));
    return 0;
  }
  const max = command.maxArgs ?? 0;
  if (args.length > max) {
    const allowed = max === 0 ? "no arguments" : `at most ${max}`;
    throw new ValueError(`${name} takes ${allowed}, not '${args[max]}'; \`${name} --help\` shows its options`);
  }
  return (await command.run({ ...call, options, args })) ?? 0;
}

async function version(): Promise<string> {
  const manifest = await readFile(join(packageFolder(), "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
