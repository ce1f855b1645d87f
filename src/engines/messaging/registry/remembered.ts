/** Values that are made when they are first needed. The ones used longest ago are dropped. A failure is not remembered. */
export class Remembered<Key, Value> {
  readonly #values = new Map<Key, Value | Promise<Value>>();

  constructor(private readonly most: number) {}

  get(key: Key, make: () => Promise<Value>): Value | Promise<Value> {
    const known = this.#values.get(key);
    if (known !== undefined) {
      this.#values.delete(key);
      this.#values.set(key, known);
      return known;
    }
    const making = make();
    this.set(key, making);
    const settle = (change: () => void) => {
      if (this.#values.get(key) === making) change();
    };
    making.then(
      (value) => settle(() => this.#values.set(key, value)),
      () => settle(() => this.#values.delete(key)),
    );
    return making;
  }

  set(key: Key, value: Value | Promise<Value>): void {
    this.#values.set(key, value);
    if (this.#values.size > this.most) this.#values.delete(this.#values.keys().next().value!);
  }
}
