import { ValueError } from "./value-error.js";

/** Loads an optional package; the error for one that is not installed names the command that installs it. */
export function loadPackage<T>(load: () => Promise<T>, name: string, purpose: string, range = ""): Promise<T> {
  return load().catch((cause: unknown) => {
    throw missingPackage(name, purpose, cause, range);
  });
}

/** The error for an optional package that is not installed; any other failure to load it is returned unchanged. */
export function missingPackage(name: string, purpose: string, cause: unknown, range = ""): unknown {
  const code = (cause as { code?: unknown } | null)?.code;
  const isThisOne = cause instanceof Error && cause.message.includes(`'${name}'`);
  if (code !== "ERR_MODULE_NOT_FOUND" || !isThisOne) return cause;
  return new ValueError(`${purpose} needs the package '${name}': npm install ${name}${range}`, { cause });
}

/**
 * Handles the failed import of an optional package, by throwing it again: bundlers accept a package that they do not
 * find where its absence is handled.
 */
export function notInstalled(error: unknown): never {
  throw error;
}
