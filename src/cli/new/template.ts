import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ValueError } from "../../kit/value-error.js";

/** The folders of `templates`, which are the choices. */
export const templates = {
  api: "an HTTP API: validation, OpenAPI, settings, tests",
  saas: "accounts with tokens, models and migrations, a job, rate limits",
  events: "orders with event sourcing, a saga, an outbox and a message broker",
} as const;

/** The name of the application in all files of the templates. */
const placeholder = "my-app";

/** A new application does not mix with other files; only a repository may be there before it. */
export async function checkFolder(folder: string): Promise<void> {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new ValueError(`${folder} cannot be the folder of an application: ${error.message}`, { cause: error });
  });
  const foreign = found.find((name) => name !== ".git");
  if (foreign !== undefined) throw new ValueError(`${folder} is not empty: it contains ${foreign}`);
}

/** Writes the files that all templates have in common, and those of one template. */
export async function copyTemplate(template: keyof typeof templates, folder: string, name: string): Promise<void> {
  const source = templatesFolder();
  for (const part of ["shared", template]) {
    for (const path of await readdir(join(source, part), { recursive: true })) {
      const file = join(source, part, path);
      if ((await stat(file)).isDirectory()) continue;
      const target = join(folder, dotted(path));
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, (await readFile(file, "utf8")).replaceAll(placeholder, name));
    }
  }
}

/** `_gitignore` is `.gitignore`: npm leaves that name out of packages, and tools would obey such files in the templates. */
function dotted(path: string): string {
  return path.replace(/(^|[\\/])_/g, "$1.");
}

/** Beside the code, at the top of this package or of `create-stoa`, which contains a copy of both. */
function templatesFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "templates/shared")) && folder !== dirname(folder)) folder = dirname(folder);
  return join(folder, "templates");
}
