import type { Issue } from "./issues.js";

/** The most issues in a message. The error has them all. */
const maxNamed = 20;

/** The error of a handler whose result does not fit the `response` schema: a mistake of the application. */
export class ResponseValidationError extends Error {
  readonly issues: readonly Issue[];

  constructor(owner: string, issues: readonly Issue[]) {
    const list = issues.slice(0, maxNamed).map(({ loc, msg, type }) => `${loc.join(".")}: ${msg} (${type})`);
    if (issues.length > maxNamed) list.push(`and ${issues.length - maxNamed} more`);
    super(`the response of ${owner} breaks its schema: ${list.join("; ")}`);
    this.name = new.target.name;
    this.issues = issues;
  }
}
