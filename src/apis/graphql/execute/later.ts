import type { GraphQLResolveInfo } from "graphql";
import { fieldError } from "./field-error.js";
import type { Path } from "./path.js";
import type { Complete, FieldPlan } from "./plan.js";
import type { Run } from "./run.js";

/** The JSON text of a value, null, or undefined for a value that has none. */
export type Text = string | null | undefined;

/** Gets the text, or the error, of a value that comes later. */
export interface Receiver {
  fill(index: number, text: Text): void;
  fail(index: number, error: unknown): void;
}

/** Receivers that are called one inside the other: a chain as deep as the operation could overflow the stack. */
const maxNesting = 100;

/**
 * A text that comes later. It calls its receiver at once, without a chain of promises. Errors take as many steps as the
 * promises of graphql would, because the order of errors depends on them.
 */
export abstract class Later {
  protected readonly run: Run;
  #receiver: Receiver | null = null;
  #index = 0;
  #field: FieldPlan | null = null;
  #required = false;
  #path: Path | undefined = undefined;

  constructor(run: Run) {
    this.run = run;
  }

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

  protected succeed(text: Text, steps: number): void {
    const { run } = this;
    if (run.inStep) {
      afterSteps(this.#field === null ? steps : steps + 1, () => this.#receiver?.fill(this.#index, text));
    } else if (run.nesting < maxNesting) {
      run.nesting++;
      this.#receiver?.fill(this.#index, text);
      run.nesting--;
    } else {
      queueMicrotask(() => this.succeed(text, steps));
    }
  }

  protected reject(error: unknown, steps: number): void {
    const field = this.#field;
    if (field === null) afterSteps(steps, () => this.#receiver?.fail(this.#index, error));
    else afterSteps(steps + 1, () => this.#rejectField(field, error));
  }

  #rejectField(field: FieldPlan, raw: unknown): void {
    try {
      fieldError(this.run, field, this.#required, this.#path!, raw);
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
    promiseOf(value).then(
      (resolved) => this.#resolve(resolved),
      (error: unknown) => this.reject(error, 0),
    );
  }

  // A promise that is resolved with another one takes a step more.
  fill(_index: number, text: Text): void {
    this.succeed(text, 1);
  }

  fail(_index: number, error: unknown): void {
    this.reject(error, 1);
  }

  #resolve(value: unknown): void {
    let finished: unknown;
    try {
      finished = this.#finish(value);
    } catch (error) {
      this.reject(error, 0);
      return;
    }
    if (finished instanceof Later) finished.sendTo(this, 0);
    else this.succeed(finished as Text, 0);
  }
}

/** A promise is taken as it is; an object or a promise with a `then` of its own could call back at once, twice, or throw. */
function promiseOf(value: PromiseLike<unknown>): Promise<unknown> {
  const promise = Promise.resolve(value);
  return promise.then === Promise.prototype.then ? promise : new Promise((resolve) => resolve(promise));
}

/** The text of the value of a promise. A function of its own: a closure in the caller would cost each of its calls. */
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

/** The members of an object or a list, some of which are not there yet. */
abstract class LaterMembers extends Later implements Receiver {
  readonly texts: Text[] = [];
  #awaited = 0;
  #error: unknown = null;
  #isOver = false;

  /** The steps of graphql from the end of a member to the end of the whole. */
  protected abstract readonly steps: number;
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

  /** Ends with an error, after the members that are under way: they may fail too. */
  failAtTheEnd(error: unknown): this {
    this.run.inStep = true;
    this.#error = error;
    return this;
  }

  fill(index: number, text: Text): void {
    this.texts[index] = text;
    if (--this.#awaited > 0) return;
    if (this.#error !== null) {
      this.reject(this.#error, this.steps + 1);
      return;
    }
    let whole: string;
    try {
      whole = this.joined();
    } catch (error) {
      // The text is longer than a string can be.
      this.reject(error, this.steps);
      return;
    }
    this.succeed(whole, this.steps);
  }

  fail(_index: number, error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#error === null) this.reject(error, this.steps);
    else this.reject(this.#error, this.steps + 1);
  }
}

export class LaterObject extends LaterMembers {
  protected readonly steps = 2;
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
  protected readonly steps = 1;
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

/** Calls the function as a chain of so many promises would. */
function afterSteps(steps: number, then: () => void): void {
  if (steps === 0) then();
  else queueMicrotask(() => afterSteps(steps - 1, then));
}
