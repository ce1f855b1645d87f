import type { OptionSpecs, OptionValues } from "./arguments.js";
import type { Terminal } from "./terminal.js";

/** The argument of a command's `run`. */
export interface CommandCall<Specs extends OptionSpecs = OptionSpecs> {
  readonly options: OptionValues<Specs>;
  readonly args: readonly string[];
  readonly terminal: Terminal;
  /** The folder in which the command was started. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl+C or a signal to stop. */
  readonly signal: AbortSignal;
  /** All commands, for the one that describes them to a shell. */
  readonly commands: CommandTable;
}

/** The part of a call that does not depend on the command. */
export type CallBase = Omit<CommandCall, "options" | "args" | "commands">;

/** A command: one file in `commands/`, or below a group. */
export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  readonly summary: string;
  /** The arguments after the options, for the help: `[NAME]`. Default: none. */
  readonly args?: string;
  /** The largest number of arguments after the options. */
  readonly maxArgs?: number;
  /** The values of the argument, where there are only these. */
  readonly choices?: readonly string[];
  readonly options: Specs;
  /** Further lines of help. */
  readonly details?: string;
  /** The exit code; 0 unless given. */
  run(call: CommandCall<Specs>): Promise<number | void>;
}

/** A word that further commands follow: `stoa migrate ...`. */
export interface CommandGroup {
  readonly summary: string;
  readonly commands: CommandTable;
}

/** Commands by name. A command is loaded when it is called, its summary is known before. */
export type CommandTable = Readonly<Record<string, CommandEntry>>;

export interface CommandEntry {
  readonly summary: string;
  load(): Promise<AnyCommand | CommandGroup>;
}

/** A command whatever its options are. */
export type AnyCommand = Omit<Command, "run"> & { run(call: never): Promise<number | void> };

/** Gives `run` the types of the options. */
export function defineCommand<const Specs extends OptionSpecs>(command: Command<Specs>): Command<Specs> {
  return command;
}
