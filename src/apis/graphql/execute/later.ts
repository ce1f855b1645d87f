import type { GraphQLResolveInfo } from "graphql";
import { fieldError } from "./field-error.js";
import type { Path } from "./path.js";
import type { Complete, FieldPlan, Run } from "./plan.js";

/** The JSON text of a value, null, or undefined for a value that has none. */
export type Text = string | null | undefined;

/** Gets the text, or the error, of a value that comes later. */
export interface Receiver {
  fill(index: number, text: Text): void;
  fail(index: number, error: unknown): void;
}

/** Receivers that are called one inside the other: a chain as deep as the operation could overflow the stack. */
const maxNesting = 100;

/** A text that comes later. It calls its receiver at once, without a chain of promises. */
export abstract class Later {
  #receiver: Receiver | null = null;
  #index = 0;
  #field: FieldPlan | null = null;
  #required = false;
  #path: Path | undefined = undefined;

  constructor(protected readonly run: Run) {}

  /** Sets the receiver, in the turn in which this was made. Without a receiver the text, or the error, is dropped. */
  sendTo(receiver: Receiver, index: number): void {
    this.#receiver = receiver;
    this.#index = index;
  }

  /** Makes this the value of a field, or of an item of a list. An error is kept with that path. */
  at(field: FieldPlan, required: boolean, path: Path): this {
    this.#field = field;
    this.#required = required;
    this.#path = path;
    return this;
  }

  protected succeed(text: Text): void {
    const { run } = this;
    if (run.nesting >= maxNesting) {
      queueMicrotask(() => this.succeed(text));
      return;
    }
    run.nesting++;
    this.#receiver?.fill(this.#index, text);
    run.nesting--;
  }

  protected reject(raw: unknown): void {
    const { run } = this;
    if (run.nesting >= maxNesting) {
      queueMicrotask(() => this.reject(raw));
      return;
    }
    run.nesting++;
    this.#fail(raw);
    run.nesting--;
  }

  #fail(raw: unknown): void {
    try {
      if (this.#field === null) throw raw;
      fieldError(this.run, this.#field, this.#required, this.#path!, raw);
    } catch (error) {
      this.#receiver?.fail(this.#index, error);
      return;
    }
    this.#receiver?.fill(this.#index, null);
  }
}

/** A text that is made of the value of a promise. */
export class LaterValue extends Later implements Receiver {
  readonly #finish: (value: unknown) => unknown;

  /** `finish` returns a text or a `Later`. */
  constructor(run: Run, value: PromiseLike<unknown>, finish: (value: unknown) => unknown) {
    super(run);
    this.#finish = finish;
    run.begin();
    promiseOf(value).then(
      (resolved) => {
        this.#resolve(resolved);
        run.end();
      },
      (error: unknown) => {
        this.reject(error);
        run.end();
      },
    );
  }

  fill(_index: number, text: Text): void {
    this.succeed(text);
  }

  fail(_index: number, error: unknown): void {
    this.reject(error);
  }

  #resolve(value: unknown): void {
    let finished: unknown;
    try {
      finished = this.#finish(value);
    } catch (error) {
      this.reject(error);
      return;
    }
    if (finished instanceof Later) finished.sendTo(this, 0);
    else this.succeed(finished as Text);
  }
}

/** A promise is taken as it is; an object or a promise with its own `then` could call back at once, twice, or throw. */
function promiseOf(value: PromiseLike<unknown>): Promise<unknown> {
  const promise = Promise.resolve(value);
  return promise.then === Promise.prototype.then ? promise : new Promise((resolve) => resolve(promise));
}

/** The text of the value of a promise. A separate function: a closure in the caller would cost each of its calls. */
export function completeLater(
  run: Run,
  field: FieldPlan,
  complete: Complete,
  path: Path,
  info: GraphQLResolveInfo | null,
  value: PromiseLike<unknown>,
): Later {
  return new LaterValue(run, value, (resolved) => complete(run, field, path, info, resolved));
}

/** The members of an object or a list, some of which come later. The first error is that of the whole. */
abstract class LaterMembers extends Later implements Receiver {
  readonly texts: Text[] = [];
  #awaited = 0;
  #isOver = false;

  /** The text of the whole. */
  protected abstract joined(): string;

  push(member: unknown): void {
    if (member instanceof Later) {
      member.sendTo(this, this.texts.length);
      this.#awaited++;
      this.texts.push(null);
    } else {
      this.texts.push(member as Text);
    }
  }

  fill(index: number, text: Text): void {
    this.texts[index] = text;
    if (--this.#awaited > 0 || this.#isOver) return;
    let whole: string;
    try {
      whole = this.joined();
    } catch (error) {
      // The text is longer than a string can be.
      this.reject(error);
      return;
    }
    this.succeed(whole);
  }

  fail(_index: number, error: unknown): void {
    this.#awaited--;
    if (this.#isOver) return;
    this.#isOver = true;
    this.reject(error);
  }
}

export class LaterObject extends LaterMembers {
  readonly #head: string;
  readonly #fields: readonly FieldPlan[];
  readonly #start: number;

  /** `head` has the members before the field at `start`. */
  constructor(run: Run, head: string, fields: readonly FieldPlan[], start: number) {
    super(run);
    this.#head = head;
    this.#fields = fields;
    this.#start = start;
  }

  protected joined(): string {
    return `{${joinFields(this.#head, this.#fields, this.#start, this.texts)}}`;
  }
}

export class LaterList extends LaterMembers {
  readonly #head: string;

  /** `head` has the items before the first that is pushed, each with a comma after it. */
  constructor(run: Run, head: string) {
    super(run);
    this.#head = head;
  }

  protected joined(): string {
    let text = this.#head;
    for (let i = 0; i < this.texts.length; i++)
      text += i === 0 ? (this.texts[i] ?? "null") : `,${this.texts[i] ?? "null"}`;
    return `[${text}]`;
  }
}

/** The members of an object, of which the first ones are text already. */
export function joinFields(head: string, fields: readonly FieldPlan[], start: number, texts: readonly Text[]): string {
  let text = head;
  for (let i = 0; i < texts.length; i++) {
    const value = texts[i];
    if (value === undefined) continue;
    const { prefix, nextPrefix } = fields[start + i]!;
    text += (text === "" ? prefix : nextPrefix) + (value ?? "null");
  }
  return text;
}
