import type { Request } from "../http/request.js";
import { addSnakeNames } from "../kit/names.js";
import type { Middleware } from "../pipeline/middleware.js";
import type { StoreSource } from "../pipeline/shared-stores.js";
import { SkippedPaths } from "./skipped-paths.js";

/** A security scheme object of OpenAPI 3.1. */
export type SecurityScheme =
  | { readonly type: "http"; readonly scheme: string; readonly bearerFormat?: string; readonly description?: string }
  | { readonly type: "apiKey"; readonly in: "header"; readonly name: string; readonly description?: string };

/** The base of all authentication middleware. It reads only the head of a request. */
abstract class BaseAuth implements Middleware {
  abstract readonly name: string;
  readonly early = true;
  readonly #skipped = new SkippedPaths();

  /** Skips authentication for requests to a path and to everything below it. */
  skipPath(...paths: string[]): this {
    for (const path of paths) this.#skipped.add("skipPath()", path);
    return this;
  }

  /** True if requests to this path are skipped. */
  skips(path: string): boolean {
    return this.#skipped.covers(path);
  }

  /** Called once at start to request shared stores. */
  prepare?(stores: StoreSource): void;

  before(request: Request): void | Promise<void> {
    if (this.#skipped.covers(request.path)) return undefined;
    return this.authenticate(request);
  }

  /** Identifies the client and adds it to the context. Throws 401 if the credentials are missing or wrong. */
  abstract authenticate(request: Request): void | Promise<void>;
}
addSnakeNames(BaseAuth.prototype, ["skipPath"]);

/** The base class of authentication middleware. */
export abstract class Auth extends BaseAuth {}
export interface Auth {
  readonly skip_path: this["skipPath"];
}

/** An authentication middleware with one scheme, for the documentation of an API. */
export abstract class SchemeAuth extends Auth {
  /** The key of the scheme among the components of an OpenAPI document. */
  abstract readonly schemeName: string;
  abstract readonly securityScheme: SecurityScheme;

  /** A request has one Authorization field, so that it can satisfy one reader of it only. */
  conflict(all: readonly Middleware[], owner: string, path: string): string | undefined {
    const readers = all.filter(
      (item) => item instanceof SchemeAuth && item.securityScheme.type === "http" && !item.skips(path),
    );
    if (readers.length < 2) return undefined;
    const names = readers.map((item) => item.constructor.name).join(" and ");
    return (
      `${names} both read the Authorization header, so no request to ${owner} can satisfy both: ` +
      "accept either of them with new AnyAuth(...), or give each its own paths with skipPath()"
    );
  }
}
