import type { QueryAudience, QueryEntry } from "./query-log.js";
import type { RepeatedStatement } from "./statement-tally.js";

/** The statements of all requests of one route. */
export interface RouteStatistics {
  readonly route: string;
  requests: number;
  statements: number;
  /** The most statements of one request. */
  most: number;
  ms: number;
}

export interface RepeatedOfRoute extends RepeatedStatement {
  readonly route: string;
}

const mostRoutes = 500;
const mostSlow = 20;
const mostRepeated = 50;

/** The numbers that the live page shows. All lists are bounded. */
export class QueryStatistics implements QueryAudience {
  statements = 0;
  slow = 0;
  failed = 0;
  readonly #routes = new Map<string, RouteStatistics>();
  #slowest: QueryEntry[] = [];
  /** By route, caller and text; the latest is last. */
  readonly #repeated = new Map<string, RepeatedOfRoute>();

  ended(entry: QueryEntry): void {
    this.statements++;
    if (entry.slow) this.slow++;
    if (entry.error !== null) this.failed++;
    const last = this.#slowest.at(-1);
    if (this.#slowest.length >= mostSlow && last !== undefined && last.ms >= entry.ms) return;
    const same = this.#slowest.find(
      ({ statement, caller }) => statement === entry.statement && caller === entry.caller,
    );
    if (same !== undefined && same.ms >= entry.ms) return;
    this.#slowest = [...this.#slowest.filter((each) => each !== same), entry]
      .sort((a, b) => b.ms - a.ms)
      .slice(0, mostSlow);
  }

  requestEnded(pattern: string | null, statements: number, ms: number, repeated: readonly RepeatedStatement[]): void {
    const route = pattern ?? "no route";
    const known = this.#routes.get(route) ?? { route, requests: 0, statements: 0, most: 0, ms: 0 };
    if (known.requests === 0 && this.#routes.size < mostRoutes) this.#routes.set(route, known);
    known.requests++;
    known.statements += statements;
    known.most = Math.max(known.most, statements);
    known.ms += ms;
    for (const each of repeated) this.#addRepeated({ ...each, route });
  }

  #addRepeated(found: RepeatedOfRoute): void {
    const key = `${found.route}\n${found.caller}\n${found.statement}`;
    this.#repeated.delete(key);
    this.#repeated.set(key, found);
    if (this.#repeated.size <= mostRepeated) return;
    const [oldest] = this.#repeated.keys();
    this.#repeated.delete(oldest!);
  }

  /** The routes with the most statements in one request first. */
  routes(): RouteStatistics[] {
    return [...this.#routes.values()].sort((a, b) => b.most - a.most);
  }

  slowest(): readonly QueryEntry[] {
    return this.#slowest;
  }

  /** The statements that ran several times in a request, the latest first. */
  repeated(): RepeatedOfRoute[] {
    return [...this.#repeated.values()].reverse();
  }
}
