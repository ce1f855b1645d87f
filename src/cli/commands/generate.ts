import { dirname, join, resolve } from "node:path";
import { capitalized } from "../../kit/names.js";
import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import { appOption, findApp } from "../application.js";
import { defineCommand } from "../command.js";
import { kinds, type Names } from "../generate/files.js";
import { make } from "../migrate/make.js";
import { writeNew } from "../migrate/migration-files.js";
import { shownPath } from "../migrate/runner.js";

const choices: readonly string[] = [...Object.keys(kinds), "migration"];

export const generate = defineCommand({
  summary: "Writes the first lines of a model, route, job, saga or migration. Files that exist are never changed.",
  args: "KIND NAME",
  maxArgs: 2,
  choices,
  options: appOption,
  details: `
KIND is ${choices.join(", ")}. The files are in the folder of the application (src), tests in test, and migrations in
migrations.

Examples:
  stoa generate model OrderLine       # src/order-line-model.ts
  stoa generate route orders          # src/orders-routes.ts and test/orders-routes.test.ts
  stoa generate migration fill-totals # migrations/0004_fill_totals.ts, without operations`,
  async run(call) {
    const { args, options, terminal, cwd } = call;
    const [kind = "", name = ""] = args;
    if (choices.includes(kind) && name === "") throw new ValueError(`stoa generate ${kind} needs NAME`);
    const names = choices.includes(kind) ? namesOf(name) : null;
    if (kind === "migration") {
      const { config } = options;
      return make.run({ ...call, args: [], options: { empty: true, name, ...(config !== undefined && { config }) } });
    }
    if (names === null) {
      const what = kind === "" ? "stoa generate needs KIND and NAME" : `there is no kind '${kind}'`;
      throw new ValueError(`${what}: ${choices.join(", ")}${didYouMean(kind, choices)}`);
    }
    const { files, next } = kinds[kind as keyof typeof kinds](names);
    const app = await findApp(call);
    const source = app === undefined ? resolve(cwd, "src") : dirname(app);
    const folders = { source, test: resolve(source, "../test") };
    for (const [path, text] of Object.entries(files)) {
      const [folder, file] = path.split("/") as ["source" | "test", string];
      const place = join(folders[folder], file);
      await writeNew(place, text);
      terminal.print(`wrote ${shownPath(cwd, place)}`);
    }
    terminal.note(`next: ${next}`);
    return 0;
  },
});

function namesOf(name: string): Names {
  if (!/^[A-Za-z][\w-]*$/.test(name)) {
    throw new ValueError(
      `the name must begin with a letter and have letters, digits and dashes, not ${JSON.stringify(name)}`,
    );
  }
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "");
  const pascal = words.map(capitalized).join("");
  return {
    kebab: words.join("-"),
    snake: words.join("_"),
    pascal,
    camel: pascal[0]!.toLowerCase() + pascal.slice(1),
  };
}
