import type { FieldNode } from "graphql";
import { type GraphQLError, locatedError } from "../graphql-js.js";
import { operationError } from "../internal-errors.js";
import { executeFields, textOf } from "./execute-fields.js";
import { Later, type Text } from "./later.js";
import { keysOf, type Path } from "./path.js";
import { type DeferredPart, dropPart, type Part, type Run, type StreamedPart } from "./plan.js";

/** Items of a list in one payload. */
const maxItems = 100;

/** A payload after the first result: the members of a JSON object without its braces, up to `hasNext`. */
export type ErrorsText = (errors: readonly GraphQLError[]) => string;

/**
 * Executes and delivers the parts that a result has left for later, in the form of the draft "incremental delivery" of the
 * specification: `pending`, `incremental`, `completed` and `hasNext`.
 */
export class Delivery {
  readonly #childOf: () => Run;
  readonly #ids = new Map<Part, string>();
  #nextId = 0;
  #pending: string[] = [];
  readonly #incremental: ((text: ErrorsText) => string)[] = [];
  readonly #completed: ((text: ErrorsText) => string)[] = [];
  /** Parts to execute when the client has taken all that is ready. */
  #waiting: Part[] = [];
  #wake: (() => void) | null = null;
  #ended = false;
  readonly #running = new Set<Promise<unknown>>();

  constructor(parts: readonly Part[], childOf: () => Run) {
    this.#childOf = childOf;
    this.#announce(parts);
  }

  /** The members that the first result has for the parts. */
  get first(): string {
    const pending = this.#pending.join(",");
    this.#pending = [];
    return `,"pending":[${pending}],"hasNext":true`;
  }

  /** The next payload, when a part is ready; null after the last. Lists continue when the client has taken their items. */
  async next(errorsText: ErrorsText): Promise<string | null> {
    for (const part of this.#waiting.splice(0)) this.#start(part);
    while (!this.#ended && this.#ids.size > 0 && this.#incremental.length + this.#completed.length === 0) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#ended || this.#incremental.length + this.#completed.length === 0) return null;
    const members = [
      ...(this.#pending.length > 0 ? [`"pending":[${this.#pending.splice(0).join(",")}]`] : []),
      ...listOf("incremental", this.#incremental.splice(0), errorsText),
      ...listOf("completed", this.#completed.splice(0), errorsText),
      `"hasNext":${this.#ids.size > 0}`,
    ];
    return `{${members.join(",")}}`;
  }

  /** Ends all parts. Resolvers that run are left to the signal of their context. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const part of this.#ids.keys()) dropPart(part);
    this.#ids.clear();
    this.#wake?.();
  }

  /** Resolves when the resolvers that still run have ended; null if none does. */
  get running(): Promise<void> | null {
    return this.#running.size === 0 ? null : Promise.all(this.#running).then(() => {});
  }

  #announce(parts: readonly Part[]): void {
    for (const part of parts) {
      const id = String(this.#nextId++);
      this.#ids.set(part, id);
      const label = part.label === null ? "" : `,"label":${JSON.stringify(part.label)}`;
      this.#pending.push(`{"id":"${id}","path":${JSON.stringify(pathKeys(part.path))}${label}}`);
      this.#waiting.push(part);
    }
  }

  #start(part: Part): void {
    if (this.#ended) return;
    const run = this.#childOf();
    const work = (part.kind === "defer" ? this.#defer(run, part) : this.#stream(run, part)).then(() => run.untilIdle());
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #defer(run: Run, part: DeferredPart): Promise<void> {
    try {
      const fields = executeFields(run, part.fields, part.source, part.path);
      const data = fields instanceof Later ? await textOf(fields) : fields;
      this.#deliver(run, part, `"data":${data}`, null, true);
    } catch (error) {
      this.#deliver(run, part, null, error as GraphQLError, true);
    }
  }

  async #stream(run: Run, part: StreamedPart): Promise<void> {
    const texts: Text[] = [];
    let failure: GraphQLError | null = null;
    let isDone = false;
    try {
      for (let comesLater = false; !comesLater && texts.length < maxItems; ) {
        const step = part.items.next();
        comesLater = step instanceof Promise;
        const { done, value } = await step;
        isDone = done === true;
        if (isDone) break;
        const item = part.complete(run, value, part.index++);
        comesLater ||= item instanceof Later;
        texts.push(item instanceof Later ? await textOf(item) : (item as Text));
      }
    } catch (error) {
      failure = locatedError(operationError(error), part.field.nodes as FieldNode[], keysOf(part.path));
      dropPart(part);
    }
    const items = texts.length === 0 ? null : `"items":[${texts.map((text) => text ?? "null").join(",")}]`;
    this.#deliver(run, part, items, failure, isDone || failure !== null);
  }

  #deliver(run: Run, part: Part, data: string | null, failure: GraphQLError | null, isDone: boolean): void {
    const id = this.#ids.get(part);
    const parts = run.closeParts();
    if (this.#ended || id === undefined) {
      for (const each of parts) dropPart(each);
      return;
    }
    const errors = run.errors ?? [];
    const isGone = ({ path }: Part): boolean =>
      data === null || (failure !== null && part.kind === "stream" && isBelow(path, part.path, part.index - 1));
    for (const each of parts) if (isGone(each)) dropPart(each);
    if (data !== null) {
      const own = failure === null || part.kind === "stream" ? errors : [];
      this.#incremental.push((text) => `{"id":"${id}",${data}${own.length > 0 ? `,"errors":${text(own)}` : ""}}`);
      this.#announce(parts.filter((each) => !isGone(each)));
    }
    if (isDone) {
      const all = failure === null ? [] : data === null ? [...errors, failure] : [failure];
      this.#completed.push((text) => `{"id":"${id}"${all.length > 0 ? `,"errors":${text(all)}` : ""}}`);
      this.#ids.delete(part);
    } else this.#waiting.push(part);
    this.#wake?.();
  }
}

function listOf(name: string, list: readonly ((text: ErrorsText) => string)[], text: ErrorsText): string[] {
  return list.length === 0 ? [] : [`"${name}":[${list.map((each) => each(text)).join(",")}]`];
}

/** True for a place in the item of a list. */
function isBelow(path: Path | undefined, list: Path, index: number): boolean {
  for (let at = path; at !== undefined; at = at.prev) if (at.prev === list && at.key === index) return true;
  return false;
}

function pathKeys(path: Path | undefined): (string | number)[] {
  return path === undefined ? [] : keysOf(path);
}
