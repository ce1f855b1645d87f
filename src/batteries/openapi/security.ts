import type { Middleware } from "../../pipeline/middleware.js";
import type { OpenApiObject } from "./types.js";

/** Middleware that says how it authenticates; the framework's own does, and anything else may. */
interface Authenticating {
  readonly schemeName?: string;
  readonly securityScheme?: object;
  /** One of these suffices. */
  readonly alternatives?: readonly Authenticating[];
}

type Requirement = Readonly<Record<string, readonly string[]>>;

/** The security schemes of a document, and the requirements of each route. */
export class SecuritySchemes {
  readonly #schemes = new Map<string, object>();

  /** The requirements of a route: one of them suffices, and an empty list is none. */
  requirementsOf(middleware: readonly Middleware[], path: string): Requirement[] {
    let combined: Requirement[] = [];
    for (const item of middleware as readonly (Middleware & Authenticating)[]) {
      if (item.skips?.(path)) continue;
      const choices = this.#choicesOf(item);
      if (choices.length === 0) continue;
      combined =
        combined.length === 0 ? choices : combined.flatMap((one) => choices.map((two) => ({ ...one, ...two })));
    }
    return combined;
  }

  all(): OpenApiObject {
    return Object.fromEntries(this.#schemes);
  }

  #choicesOf(item: Authenticating): Requirement[] {
    if (Array.isArray(item.alternatives)) return item.alternatives.flatMap((choice) => this.#choicesOf(choice));
    if (typeof item.securityScheme !== "object" || item.securityScheme === null) return [];
    return [{ [this.#nameOf(item.schemeName ?? "auth", item.securityScheme)]: [] }];
  }

  #nameOf(wanted: string, scheme: object): string {
    const text = JSON.stringify(scheme);
    for (let n = 1; ; n++) {
      const name = n === 1 ? wanted : `${wanted}${n}`;
      const known = this.#schemes.get(name);
      if (known === undefined) this.#schemes.set(name, scheme);
      if (known === undefined || JSON.stringify(known) === text) return name;
    }
  }
}
