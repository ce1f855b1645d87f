/** A statement that ran several times in one request, from one place. */
export interface RepeatedStatement {
  readonly statement: string;
  readonly times: number;
  /** Milliseconds of all of them. */
  readonly ms: number;
  readonly caller: string | null;
  /** A way to do the same with one statement. */
  readonly cure: string;
}

/** The most statements of a request that are told apart; further ones are only counted. */
const mostKept = 500;

interface Kept {
  times: number;
  ms: number;
  readonly statement: string;
  readonly caller: string | null;
  readonly cure: string | null;
}

/** The statements of one request. */
export class StatementTally {
  count = 0;
  ms = 0;
  readonly #kept = new Map<string, Kept>();

  add(
    { statement, ms, caller }: { readonly statement: string; readonly ms: number; readonly caller: string | null },
    cure: string | null,
  ): void {
    this.count++;
    this.ms += ms;
    const key = `${caller ?? ""}\n${statement}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      kept.times++;
      kept.ms += ms;
    } else if (this.#kept.size < mostKept) {
      this.#kept.set(key, { times: 1, ms, statement, caller, cure });
    }
  }

  /** The statements that ran at least so often, the most frequent first. */
  repeated(from: number): RepeatedStatement[] {
    return [...this.#kept.values()]
      .filter(({ times }) => times >= from)
      .sort((a, b) => b.times - a.times)
      .map((kept) => ({ ...kept, cure: kept.cure ?? cureOf(kept.statement) }));
  }
}

/** Advice for a statement of which nothing but the text is known. */
function cureOf(statement: string): string {
  const [word = ""] = /[a-z]+/i.exec(statement) ?? [];
  switch (word.toLowerCase()) {
    case "insert":
      return "insert all rows at once: bulkCreate(), or one statement with unnest()";
    case "update":
    case "delete":
      return "change all rows at once: bulkUpdate(), a queryset's update() or delete(), or `= any($1)`";
    default:
      return "read all rows at once: selectRelated() or prefetchRelated() for relations, inBulk() or `= any($1)` for keys";
  }
}
