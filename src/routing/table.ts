import type { RouteMiss } from "../http/request.js";
import { ValueError } from "../kit/value-error.js";
import type { Pattern } from "./pattern.js";
import { RecentMatches } from "./recent-matches.js";
import { type Match, pathKind, RouteTree } from "./tree.js";

/** The key under which WebSocket routes stand beside the methods. */
export const websocketMethod = "WEBSOCKET";

/** The absence of a match, with its reason. */
export interface Miss extends RouteMiss {
  readonly route: null;
}

export interface TableRoute {
  readonly pattern: Pattern;
}

/** All routes, by method and path. A look-up gives a match, or the reason why there is none. */
export class RouteTable<Route extends TableRoute> {
  readonly #trees = new Map<string, RouteTree<Route>>();
  #get: RouteTree<Route> | undefined;
  readonly #recent = new RecentMatches<RouteTree<Route>, Route>();

  add(method: string, route: Route): void {
    let tree = this.#trees.get(method);
    if (!tree) this.#trees.set(method, (tree = new RouteTree()));
    if (method === "GET") this.#get = tree;
    const existing = tree.add(route.pattern, route);
    if (existing) {
      const same = existing.pattern.text === route.pattern.text;
      throw new ValueError(
        same
          ? `${method} ${route.pattern.text} is registered already`
          : `${method} ${route.pattern.text} collides with ${method} ${existing.pattern.text}: both match the same paths`,
      );
    }
  }

  /** The route for a request, or the reason why there is none. HEAD falls back to GET. */
  find(method: string, path: string): Match<Route> | Miss {
    const tree = method === "GET" ? this.#get : method === websocketMethod ? undefined : this.#trees.get(method);
    if (tree !== undefined) {
      const exact = tree.findExact(path);
      if (exact !== undefined) return exact;
      const recent = this.#recent.at(path);
      if (recent.path === path && recent.within === tree && recent.match !== null) return recent.match;
    }
    return this.#search(tree, method, path);
  }

  /** The WebSocket route at a path. */
  findWebSocket(path: string): Match<Route> | null {
    const tree = this.#trees.get(websocketMethod);
    if (tree === undefined) return null;
    const kind = pathKind(path);
    return kind === "malformed" ? null : this.#in(tree, path, kind === "encoded");
  }

  #search(tree: RouteTree<Route> | undefined, method: string, path: string): Match<Route> | Miss {
    const kind = pathKind(path);
    if (kind === "malformed") return malformedPath;
    const encoded = kind === "encoded";
    const found = tree === undefined ? null : this.#in(tree, path, encoded);
    if (found !== null) return found;
    const fallback = method === "HEAD" && this.#get !== undefined ? this.#in(this.#get, path, encoded) : null;
    return fallback ?? this.#miss(path, encoded);
  }

  #in(tree: RouteTree<Route>, path: string, encoded: boolean): Match<Route> | null {
    const exact = tree.findExact(path);
    if (exact !== undefined) return exact;
    const match = tree.findByWalk(path, encoded);
    if (match !== null) this.#recent.keep(path, tree, match);
    return match;
  }

  #miss(path: string, encoded: boolean): Miss {
    const has = (tree: RouteTree<Route>): boolean =>
      tree.findExact(path) !== undefined || tree.findByWalk(path, encoded) !== null;
    const allow: string[] = [];
    let websocket = false;
    for (const [method, tree] of this.#trees) {
      if (!has(tree)) continue;
      if (method === websocketMethod) websocket = true;
      else allow.push(method);
    }
    if (allow.includes("GET") && !allow.includes("HEAD")) allow.push("HEAD");
    if (allow.length > 0) return { route: null, reason: "method-not-allowed", allow: allow.sort() };
    return websocket ? upgradeRequired : notFound;
  }
}

const malformedPath: Miss = { route: null, reason: "malformed-path", allow: [] };
const notFound: Miss = { route: null, reason: "not-found", allow: [] };
const upgradeRequired: Miss = { route: null, reason: "upgrade-required", allow: [] };
