import { percentDecoded } from "../kit/encoding.js";
import type { Pattern } from "./pattern.js";

/** The route found for a path, with the path's parameters in the order of its pattern, decoded. */
export interface Match<Route> {
  readonly route: Route;
  readonly values: readonly string[];
}

const noValues: readonly string[] = [];

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
  readonly #exact = new Map<string, Match<Route>>();

  /** Adds a route; returns the existing one for the same paths, if any. */
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
    if (pattern.paramNames.length === 0 && !pattern.text.includes("%")) {
      this.#exact.set(pattern.text, { route, values: noValues });
    }
    return null;
  }

  /** The match of a path without parameters and escapes. Such a path is sound because a route has it. */
  findExact(path: string): Match<Route> | undefined {
    return this.#exact.get(path);
  }

  /** The match of a path that `findExact` does not know and `pathKind` accepts. `encoded`: it has percent escapes. */
  findByWalk(path: string, encoded: boolean): Match<Route> | null {
    // The only target that is no path is the "*" of OPTIONS.
    if (path.charCodeAt(0) !== 0x2f) return null;
    const values: string[] = [];
    const route = this.#walk(this.#root, path, 1, encoded, values);
    return route === null ? null : { route, values };
  }

  #walk(node: Node<Route>, path: string, start: number, encoded: boolean, values: string[]): Route | null {
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    const child = childAt(node, path, start, end, encoded);
    if (child !== undefined) {
      const found = slash === -1 ? child.route : this.#walk(child, path, slash + 1, encoded, values);
      if (found !== null) return found;
    }
    if (node.param !== null && end > start) {
      const depth = values.length;
      values.push(segmentAt(path, start, end, encoded));
      const found = slash === -1 ? node.param.route : this.#walk(node.param, path, slash + 1, encoded, values);
      if (found !== null) return found;
      values.length = depth;
    }
    if (node.wildcard) {
      const rest = path.slice(start);
      values.push(encoded ? decodeURIComponent(rest) : rest);
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
  return encoded ? decodeURIComponent(raw) : raw;
}

/**
 * The kind of a path. Malformed paths match no route: those with dot segments, which could lead elsewhere, and those with
 * broken or NUL escapes. A path that is not malformed can be decoded segment by segment.
 */
export function pathKind(path: string): "plain" | "encoded" | "malformed" {
  if (path.includes("/.") && dotSegment.test(path)) return "malformed";
  if (!path.includes("%")) return "plain";
  const decoded = percentDecoded(path);
  return decoded === null || decoded.includes("\0") || dotSegment.test(decoded) ? "malformed" : "encoded";
}

const dotSegment = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

function emptyNode<Route>(): Node<Route> {
  return { statics: new Map(), only: null, param: null, route: null, wildcard: null };
}
