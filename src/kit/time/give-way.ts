/** Milliseconds that sources which never wait have together, before the event loop does its other work. */
const share = 10;
/** The clock is read once for so many pieces: it costs a tenth of what a small piece costs. */
const piecesPerLook = 16;

/** True from the first piece in a turn of the event loop until the next turn. */
let inTurn = false;
let began = 0;
let pieces = 0;
let next: Promise<void> | null = null;
let release: () => void = () => {};

/**
 * To be called for each piece of an iterable, and awaited if it returns a promise. A generator that never waits runs in
 * microtasks alone: no request would be read during that time, and its client would be unable to leave. All sources share the time,
 * so that many of them delay the others no more than one does.
 */
export function giveWay(): Promise<void> | null {
  if (next !== null) return next;
  if (!inTurn) {
    inTurn = true;
    began = performance.now();
    pieces = 0;
    setImmediate(endTurn);
  } else if (++pieces >= piecesPerLook) {
    pieces = 0;
    if (performance.now() - began > share) next = new Promise((resolve) => (release = resolve));
  }
  return next;
}

function endTurn(): void {
  inTurn = false;
  next = null;
  release();
}
