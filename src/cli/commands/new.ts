import { spawn } from "node:child_process";
import { basename, resolve } from "node:path";
import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import { type CommandCall, defineCommand } from "../command.js";
import { checkFolder, copyTemplate, templates } from "../new/template.js";
import type { Terminal } from "../terminal.js";

const templateNames = Object.keys(templates);

export const newApp = defineCommand({
  summary: "Creates an application from a template.",
  args: "[FOLDER]",
  maxArgs: 1,
  options: {
    template: { kind: "text", value: "NAME", help: templateNames.join(", ") },
    install: { kind: "switch", on: true, help: "do not install the packages" },
    git: { kind: "switch", on: true, help: "do not create a git repository" },
    yes: { kind: "switch", short: "y", help: "ask nothing: the folder is my-app and the template api, unless given" },
  },
  details: `
Templates:
${templateLines()}

On a terminal the name and the template are asked for. The folder must be empty or new.

Examples:
  npm create stoa my-app -- --template saas
  npx stoa new my-app --template events --no-install`,
  async run({ options, args: [given], terminal, cwd, env, signal }) {
    const asks = terminal.interactive && options.yes !== true;
    const target = given ?? (asks ? await askFolder(terminal, cwd) : options.yes === true ? "my-app" : undefined);
    if (target === undefined) {
      throw new ValueError("name the folder of the application, for example my-app; --yes takes that name");
    }
    const folder = resolve(cwd, target);
    const name = nameOf(folder);
    await checkFolder(folder);
    const template = readTemplate(options.template ?? (asks ? await askTemplate(terminal) : "api"));

    await copyTemplate(template, folder, name);
    terminal.print(`created ${name} from the template ${template}`);
    const inFolder = { cwd: folder, env, signal };
    // In an existing repository, the application is a part of it.
    const needsGit = options.git !== false && (await runTool("git", ["rev-parse"], inFolder)).code !== 0;
    if (needsGit && (await runTool("git", ["init", "--quiet"], inFolder)).code !== 0) {
      terminal.note("no git repository was created: git did not run");
    }
    if (options.install !== false) {
      terminal.note("installing packages ...");
      const { code, output } = await runTool("npm", ["install", "--no-audit", "--no-fund"], inFolder);
      if (code !== 0) {
        throw new ValueError(`npm install failed; the files are in ${folder}, run it there again: ${output.trim()}`);
      }
    }
    const enter = folder === resolve(cwd) ? [] : [`cd ${quoted(target)}`];
    const install = options.install === false ? ["npm install"] : [];
    const next = [...enter, ...install, "npm run dev", "npm test"].slice(0, 3);
    terminal.print(["next:", ...next].join("\n  "));
  },
});

function askFolder(terminal: Terminal, cwd: string): Promise<string> {
  return terminal.ask("Folder of the application (my-app):", (answer) => {
    nameOf(resolve(cwd, answer || "my-app"));
    return answer || "my-app";
  });
}

function askTemplate(terminal: Terminal): Promise<string> {
  terminal.note(templateLines());
  return terminal.ask("Template (api):", (answer) => readTemplate(answer || "api"));
}

function templateLines(): string {
  return Object.entries(templates)
    .map(([name, text]) => `  ${name.padEnd(8)}${text}`)
    .join("\n");
}

function readTemplate(name: string): keyof typeof templates {
  if (Object.hasOwn(templates, name)) return name as keyof typeof templates;
  const choices = templateNames.join(", ");
  throw new ValueError(`there is no template '${name}', only ${choices}${didYouMean(name, templateNames)}`);
}

/** The name of the package is that of its folder. */
function nameOf(folder: string): string {
  const name = basename(folder);
  if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name) && name !== "node_modules" && name !== "stoa") return name;
  throw new ValueError(
    `'${name}' cannot be the name of a package: use small letters, digits and '-', for example my-app`,
  );
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `"${path}"`;
}

/** Runs a program of the system to its end. A program that does not exist has the code 127. */
function runTool(
  command: string,
  args: readonly string[],
  { cwd, env, signal }: Pick<CommandCall, "cwd" | "env" | "signal">,
): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    // On Windows npm is a script, which only a shell can start. The arguments are ours.
    const shell = process.platform === "win32";
    const child = spawn(command, args, { cwd, env, signal, shell, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", ({ message }) => resolve({ code: 127, output: message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
