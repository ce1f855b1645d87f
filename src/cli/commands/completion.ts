import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import { defineCommand } from "../command.js";
import { placesOf } from "../completion/places.js";
import { scripts } from "../completion/scripts.js";
import { common } from "../run-cli.js";

const shells = Object.keys(scripts);

export const completion = defineCommand({
  summary: "Prints a script that completes commands and options in a shell.",
  args: shells.join("|"),
  maxArgs: 1,
  choices: shells,
  options: {},
  details: `
The script completes the command \`stoa\`: put node_modules/.bin on the PATH, or install the package globally.

Examples:
  stoa completion bash >> ~/.bashrc
  stoa completion zsh > "\${fpath[1]}/_stoa"
  stoa completion fish > ~/.config/fish/completions/stoa.fish`,
  async run({ args: [shell], commands, terminal }) {
    if (shell === undefined) throw new ValueError(`stoa completion needs a shell: ${shells.join(", ")}`);
    if (!Object.hasOwn(scripts, shell)) {
      throw new ValueError(
        `there is no completion for '${shell}', only ${shells.join(", ")}${didYouMean(shell, shells)}`,
      );
    }
    terminal.print(scripts[shell]!(await placesOf(commands, common)).trim());
  },
});
