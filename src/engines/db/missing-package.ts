import { ValueError } from "../../kit/value-error.js";

/** The error for an optional package that is not installed; any other failure to load it is returned unchanged. */
export function missingPackage(name: string, purpose: string, cause: unknown, range = ""): unknown {
  const code = (cause as { code?: unknown } | null)?.code;
  const isThisOne = cause instanceof Error && cause.message.includes(`'${name}'`);
  if (code !== "ERR_MODULE_NOT_FOUND" || !isThisOne) return cause;
  return new ValueError(`${purpose} needs the package '${name}': npm install ${name}${range}`, { cause });
}
