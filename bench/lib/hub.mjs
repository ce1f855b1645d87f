/** Sends every event to all listeners. A chain of promises, so that a slow listener misses none. */
export class Hub {
  #publish;
  #last;

  constructor() {
    this.#extend();
  }

  publish(data) {
    const publish = this.#publish;
    this.#extend();
    publish({ data, next: this.#last });
  }

  /** The first event tells the client that it will get all later ones. */
  async *events() {
    let event = this.#last;
    yield "ready";
    for (;;) {
      const { data, next } = await event;
      yield data;
      event = next;
    }
  }

  #extend() {
    this.#last = new Promise((resolve) => {
      this.#publish = resolve;
    });
  }
}
