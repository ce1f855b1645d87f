import type { Issue } from "./issues.js";

/** Issues that a message names; the error has them all. */
const maxNamed = 20;

/** What a handler returned breaks the schema of its response: a mistake in the application, not in the request. */
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
