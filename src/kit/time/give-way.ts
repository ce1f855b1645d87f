/** Milliseconds that sources which never wait have together, before the event loop does its other work. */
const share = 10;
/** The clock is read once for so many pieces: it costs a tenth of what a small piece costs. */
const piecesPerLook = 16;

let pieces = 0;
let since = 0;
let turn: Promise<void> | null = null;

/**
 * To be called for each piece of an iterable, and awaited if it returns a promise. A generator that never waits runs in
 * microtasks alone: no request would be read meanwhile, and its client would be unable to leave. All sources share the time,
 * so that many of them delay the others no more than one does.
 */
export function giveWay(): Promise<void> | null {
  if (turn !== null || ++pieces < piecesPerLook) return turn;
  pieces = 0;
  if (performance.now() - since > share) turn = new Promise((resolve) => setImmediate(begin, resolve));
  return turn;
}

function begin(resolve: () => void): void {
  turn = null;
  since = performance.now();
  resolve();
}
