import { ValueError } from "../../kit/value-error.js";
import type { FieldsOf } from "../fields/types.js";
import type { WriteForms } from "../run/write.js";
import type { AnyName, ColumnName, Name, PathValue } from "./path-types.js";

/** A field of the rows; otherwise the fields that exist, which editors suggest. */
type ReturnedName<M, K> = K extends ColumnName<M> ? K : NoInfer<ColumnName<M>>;

/** An instance, or the fields that were named. */
type Returned<M, K> = [AnyName] extends [K]
  ? unknown
  : [K] extends [never]
    ? M
    : { [P in K & string]: PathValue<FieldsOf<M>, unknown, P> };

/**
 * A write of rows. Awaited, it returns their number; with `returning()`, the rows. It is sent in any case, also if it is
 * not awaited.
 */
export class PendingWrite<out M> implements Promise<number> {
  readonly #forms: WriteForms;
  #sent: Promise<number> | null = null;
  #returns = false;

  constructor(forms: WriteForms) {
    this.#forms = forms;
    queueMicrotask(() => {
      if (!this.#returns) this.#send();
    });
  }

  get [Symbol.toStringTag](): string {
    return "PendingWrite";
  }

  /** Returns the written rows in place of their number: all of their columns as instances, or only these fields as plain objects. */
  async returning<const K extends Name = never>(
    ...fields: readonly ([AnyName] extends [K] ? string : ReturnedName<M, K>)[]
  ): Promise<Returned<M, K>[]> {
    if (this.#sent !== null || this.#returns) throw tooLate();
    this.#returns = true;
    const names = fields as unknown as readonly string[];
    return (await this.#forms.rows(names.length === 0 ? null : names)) as Returned<M, K>[];
  }

  // biome-ignore lint/suspicious/noThenProperty: a write is awaited for the number of its rows.
  then<A = number, B = never>(
    onFulfilled?: ((count: number) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#send().then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<number | B> {
    return this.#send().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<number> {
    return this.#send().finally(onFinally);
  }

  #send(): Promise<number> {
    return (this.#sent ??= this.#returns ? Promise.reject(tooLate()) : this.#forms.count());
  }
}

/** A write is sent once, in one of its two forms. */
function tooLate(): ValueError {
  return new ValueError("call returning() at once, and await only its result: await update({ ... }).returning()");
}
