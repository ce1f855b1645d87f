import { ValueError } from "../internal/value-error.js";
import type { Pattern } from "./pattern.js";
import { RecentMatches } from "./recent-matches.js";
import { checkPath, RouteTree } from "./tree.js";

/** The key under which WebSocket routes stand beside the methods. */
export const websocketMethod = "WEBSOCKET";

export interface TableRoute {
  readonly pattern: Pattern;
}

/** All routes, by method and path. */
export class RouteTable<Route extends TableRoute> {
  readonly #trees = new Map<string, RouteTree<Route>>();
  #get: RouteTree<Route> | undefined;
  readonly #recent = new RecentMatches<RouteTree<Route>, Route>();
  /** The parameters of the route found last. */
  values: readonly string[] = [];

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

  /** The route that answers; HEAD falls back to GET. Throws 400 for a path that no route may see. */
  find(method: string, path: string): Route | null {
    const tree = method === "GET" ? this.#get : this.#trees.get(method);
    if (tree !== undefined) {
      const exact = tree.findExact(path);
      if (exact !== undefined) return exact;
      const recent = this.#recent.at(path);
      if (recent.path === path && recent.within === tree) {
        this.values = recent.values;
        return recent.route;
      }
    }
    const encoded = checkPath(path);
    const found = this.#in(tree, path, encoded);
    if (found !== null || method !== "HEAD") return found;
    return this.#get?.findExact(path) ?? this.#in(this.#get, path, encoded);
  }

  /** The methods for which a path has a route. */
  methodsAt(path: string): string[] {
    const methods: string[] = [];
    for (const [method, tree] of this.#trees) {
      if (method !== websocketMethod && tree.find(path)) methods.push(method);
    }
    if (methods.includes("GET") && !methods.includes("HEAD")) methods.push("HEAD");
    return methods.sort();
  }

  /** Whether a WebSocket route stands at a path. */
  hasWebSocketAt(path: string): boolean {
    return this.#trees.get(websocketMethod)?.find(path) != null;
  }

  #in(tree: RouteTree<Route> | undefined, path: string, encoded: boolean): Route | null {
    if (!tree) return null;
    const route = tree.findByWalk(path, encoded);
    this.values = tree.values;
    if (route !== null) this.#recent.keep(path, tree, route, tree.values);
    return route;
  }
}
