import { ValueError } from "../../kit/value-error.js";
import { defineCommand } from "../command.js";
import { databaseOptions, runOptions, targetOf, withMigrator } from "./runner.js";

export const down = defineCommand({
  summary: "Undoes the last migration, or more.",
  args: "[NAME]",
  maxArgs: 1,
  options: {
    to: { kind: "text", value: "NAME", help: "go back to this one, which stays; NAME alone means the same" },
    steps: { kind: "number", value: "N", help: "how many to undo (1)" },
    all: { kind: "switch", help: "undo all of them" },
    yes: { kind: "switch", short: "y", help: "do not ask before undoing more than one" },
    input: { kind: "switch", on: true, help: "ask nothing: needs --yes for more than one" },
    ...runOptions,
    ...databaseOptions,
  },
  details: "Undoing a migration drops what it created, with the data in it.",
  async run(call) {
    const { options, args, terminal } = call;
    const target = readTarget(targetOf(options.to, args), options.steps, options.all ?? false);
    return withMigrator(call, async (migrator) => {
      if (options.dryRun) {
        const script = await migrator.sql({ ...target, down: true });
        terminal.print(script === "" ? "-- nothing to do" : script.trimEnd());
        return;
      }
      const fake = options.fake ?? false;
      if (!options.yes && !fake) {
        const plan = await migrator.down({ ...target, dryRun: true });
        if (plan.length > 1)
          await confirm(
            call,
            plan.map(({ name }) => name),
          );
      }
      const done = await migrator.down({ ...target, fake });
      if (done.length === 0) terminal.print("nothing to undo");
    });
  },
});

function readTarget(
  to: string | undefined,
  steps: number | undefined,
  all: boolean,
): { readonly to?: string | null; readonly steps?: number } {
  if ([to !== undefined, steps !== undefined, all].filter(Boolean).length > 1) {
    throw new ValueError("give one of NAME, --steps and --all");
  }
  if (steps === 0) throw new ValueError("--steps must be at least 1");
  if (all) return { to: null };
  return to === undefined ? { steps: steps ?? 1 } : { to };
}

async function confirm(
  { terminal, options }: { terminal: Parameters<typeof down.run>[0]["terminal"]; options: { input?: boolean } },
  names: readonly string[],
): Promise<void> {
  if (options.input === false || !terminal.interactive) {
    throw new ValueError(`this undoes ${names.length} migrations (${names.join(", ")}): confirm it with --yes`);
  }
  const sure = await terminal.ask(`Undo ${names.join(", ")}, with the data in what they created? [y/N]`, (answer) =>
    /^y(es)?$/i.test(answer),
  );
  if (!sure) throw new ValueError("nothing was undone");
}
