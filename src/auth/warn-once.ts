const given = new Set<string>();

/** Warns the operator of something unsafe, once per process and code. There may be no application yet to log to. */
export function warnOnce(code: string, message: string): void {
  if (given.has(code)) return;
  given.add(code);
  process.emitWarning(message, { type: "SecurityWarning", code });
}
