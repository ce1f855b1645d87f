import { httpError } from "../errors/http-error.js";
import type { Pattern } from "./pattern.js";

interface Node<Route> {
  readonly statics: Map<string, Node<Route>>;
  /** The static child, where there is one alone: comparing is cheaper than cutting out the segment to look it up. */
  only: { readonly text: string; readonly node: Node<Route> } | null;
  param: Node<Route> | null;
  route: Route | null;
  wildcard: Route | null;
}

/** The routes of one method. Static beats parameter beats wildcard, segment by segment from the left. */
export class RouteTree<Route> {
  readonly #root: Node<Route> = emptyNode();
  /** Paths without parameters, found in one step. */
  readonly #exact = new Map<string, Route>();
  /** The parameters of the route found last, in the order of the pattern. */
  values: string[] = [];

  /** Adds a route; returns the one that is there already for the same paths, if any. */
  add(pattern: Pattern, route: Route): Route | null {
    let node = this.#root;
    for (const segment of pattern.segments) {
      if (segment.kind === "wildcard") {
        if (node.wildcard) return node.wildcard;
        node.wildcard = route;
        return null;
      }
      if (segment.kind === "param") {
        node = node.param ??= emptyNode();
      } else {
        let child = node.statics.get(segment.text);
        if (!child) {
          child = emptyNode<Route>();
          node.statics.set(segment.text, child);
          node.only = node.statics.size === 1 ? { text: segment.text, node: child } : null;
        }
        node = child;
      }
    }
    if (node.route) return node.route;
    node.route = route;
    if (pattern.paramNames.length === 0 && !pattern.text.includes("%")) this.#exact.set(pattern.text, route);
    return null;
  }

  /** The route of a path without parameters and escapes, which is sound because the route has it. */
  findExact(path: string): Route | undefined {
    return this.#exact.get(path);
  }

  /** The route for a path as received; its parameters are then in `values`. Throws 400 for a malformed path. */
  find(path: string): Route | null {
    return this.findExact(path) ?? this.findByWalk(path, path.includes("%"));
  }

  /** As `find`, for a path that `findExact` does not know. `encoded`: there are escapes in it. */
  findByWalk(path: string, encoded: boolean): Route | null {
    // The only target that is no path is the "*" of OPTIONS.
    if (path.charCodeAt(0) !== 0x2f) return null;
    this.values = [];
    return this.#walk(this.#root, path, 1, encoded);
  }

  #walk(node: Node<Route>, path: string, start: number, encoded: boolean): Route | null {
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    const child = childAt(node, path, start, end, encoded);
    if (child !== undefined) {
      const found = slash === -1 ? child.route : this.#walk(child, path, slash + 1, encoded);
      if (found !== null) return found;
    }
    if (node.param !== null && end > start) {
      const depth = this.values.length;
      this.values.push(segmentAt(path, start, end, encoded));
      const found = slash === -1 ? node.param.route : this.#walk(node.param, path, slash + 1, encoded);
      if (found !== null) return found;
      this.values.length = depth;
    }
    if (node.wildcard) {
      const rest = path.slice(start);
      this.values.push(encoded ? decodeSegment(rest) : rest);
      return node.wildcard;
    }
    return null;
  }
}

function childAt<Route>(node: Node<Route>, path: string, start: number, end: number, encoded: boolean) {
  const only = node.only;
  if (only !== null && !encoded) {
    return end - start === only.text.length && path.startsWith(only.text, start) ? only.node : undefined;
  }
  return node.statics.size === 0 ? undefined : node.statics.get(segmentAt(path, start, end, encoded));
}

function segmentAt(path: string, start: number, end: number, encoded: boolean): string {
  const raw = path.slice(start, end);
  return encoded ? decodeSegment(raw) : raw;
}

/**
 * Refuses what no route may ever see: dot segments, which could lead elsewhere, and broken or NUL escapes. Tells whether
 * there are escapes.
 */
export function checkPath(path: string): boolean {
  if (path.includes("/.") && dotSegment.test(path)) throw httpError("MALFORMED_PATH");
  if (!path.includes("%")) return false;
  if (dotSegment.test(decodeSegment(path))) throw httpError("MALFORMED_PATH");
  return true;
}

const dotSegment = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

function decodeSegment(segment: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    throw httpError("MALFORMED_PATH");
  }
  if (decoded.includes("\0")) throw httpError("MALFORMED_PATH");
  return decoded;
}

function emptyNode<Route>(): Node<Route> {
  return { statics: new Map(), only: null, param: null, route: null, wildcard: null };
}
