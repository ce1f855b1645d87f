import { existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { App, hostOf } from "../app/app.js";
import type { Logger } from "../kit/logger.js";
import { ValueError } from "../kit/value-error.js";
import { exportsOf, importModule } from "../migrations/files/import-module.js";
import { StartError } from "../server/start-error.js";
import type { OptionSpecs } from "./arguments.js";
import type { CommandCall } from "./command.js";
import { findConfig, loadConfig } from "./config.js";
import { failureLine } from "./failure.js";
import { configOption } from "./project.js";

/** Options of commands that need the application. */
export const appOption = {
  app: { kind: "text", value: "FILE", help: "the module that exports the application (`app` in stoa.config.ts)" },
  ...configOption,
} as const satisfies OptionSpecs;

type AppCall = Pick<CommandCall<typeof appOption>, "options" | "cwd">;

/** Why there is no application, and the cure: a file that looks like one is named. */
export function noApplication({ options, cwd }: AppCall): string {
  const config = options.config ?? findConfig(cwd);
  const found = config === null ? `there is no stoa.config.ts in ${cwd}` : `${config} has no \`app\``;
  const usual = ["src/app.ts", "app.ts", "src/index.ts", "src/app.js", "app.js"];
  const file = usual.find((name) => existsSync(resolve(cwd, name)));
  return `no application: give --app ${file ?? "FILE"}, or name it in stoa.config.ts as \`app\` (${found})`;
}

/** The module of the application; undefined if none is named. */
export async function findApp({ options, cwd }: AppCall): Promise<string | undefined> {
  const { app } = await loadConfig(cwd, options.config);
  return options.app === undefined ? app : resolve(cwd, options.app);
}

/** Loads the application without starting it. */
export async function loadApp(call: AppCall): Promise<App> {
  const path = await findApp(call);
  if (path === undefined) throw new StartError(noApplication(call));
  await access(path).catch(() => {
    throw new ValueError(`the module of the application ${path} is not there: give its path with --app FILE`);
  });
  const module = exportsOf(await importModule(path));
  const found = module["app"] ?? module["default"];
  const app: unknown = typeof found === "function" ? await found() : found;
  if (!(app instanceof App)) {
    throw new ValueError(
      `${path} exports no application: an App, or a function that makes one, as 'app' or by default`,
    );
  }
  if (hostOf(app).phase !== "new") {
    throw new ValueError(`${path} starts the application: export it from a module that does not call app.run()`);
  }
  return app;
}

/** Loads the application and makes its routes and settings final. Nothing is connected, and no startup hook runs. */
export async function prepareApp(call: CommandCall<typeof appOption>): Promise<App> {
  const app = await loadApp(call);
  app.logger = noting(call.terminal.note);
  await hostOf(app).prepare();
  return app;
}

/** A logger that hands on warnings and errors, as one line each; the rest is of no interest to a command. */
export function noting(note: (line: string) => void): Logger {
  const warn = (message: string, fields: { readonly error?: unknown } = {}): void =>
    note(fields.error === undefined ? message : `${message}: ${failureLine(fields.error)}`);
  const logger: Logger = { debug() {}, info() {}, warn, error: warn, child: () => logger };
  return logger;
}
