import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { ValueError } from "../../kit/value-error.js";

/**
 * Imports a file of the project. TypeScript is loaded with the project's own `tsx` if it is installed, otherwise by
 * Node.js. Node.js alone does not find `./author.ts` for an import of `./author.js`, which TypeScript allows.
 */
export async function importModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (isTypeScript(file) && !readsTypeScript(file)) await registerTsx(file);
  try {
    return await import(/* @vite-ignore */ pathToFileURL(file).href);
  } catch (error) {
    const unreadable =
      (error as { code?: unknown } | null)?.code === "ERR_UNKNOWN_FILE_EXTENSION" && isTypeScript(file);
    const message = unreadable
      ? `${file} is TypeScript, which Node ${process.version} cannot read: npm install --save-dev tsx`
      : `${file} cannot be loaded: ${summary(error)}`;
    throw new ValueError(message, { cause: error });
  }
}

/** The exports of a module, by name and default; in a module compiled to CommonJS all of them are in the default. */
export function exportsOf(module: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const inner = module["default"];
  const compiled = typeof inner === "object" && inner !== null && "__esModule" in inner;
  return compiled ? (inner as unknown as Readonly<Record<string, unknown>>) : module;
}

function summary(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `${String(error)} was thrown`;
}

export function isTypeScript(file: string): boolean {
  return /\.[mc]?ts$/.test(file);
}

/**
 * True if a loader for TypeScript is registered, or if the whole program runs as TypeScript in a Node.js that strips
 * types.
 */
function readsTypeScript(file: string): boolean {
  if (createRequire(file).extensions[".ts"] !== undefined) return true;
  const features = process.features as { readonly typescript?: string | false };
  return Boolean(features.typescript) && isTypeScript(process.argv[1] ?? "");
}

/** A failed import cannot be repeated with the same URL: the loader must be registered before the first one. */
async function registerTsx(file: string): Promise<void> {
  const require = createRequire(file);
  for (const api of ["tsx/esm/api", "tsx/cjs/api"]) {
    let path: string;
    try {
      path = require.resolve(api);
    } catch {
      return;
    }
    // The CommonJS file that `require` finds does not register anything that works from another folder.
    const url = pathToFileURL(path.replace(/\.cjs$/, ".mjs")).href;
    const { register } = (await import(/* @vite-ignore */ url)) as { register(): unknown };
    register();
  }
}
