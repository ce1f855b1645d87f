/** Chooses mutants by chance, the same ones for the same seed, spread over folders and kinds. */
export function sample(mutants, { seed, count }) {
  const shuffled = shuffle(mutants, random(seed));
  const folders = [...groups(shuffled, ({ folder }) => folder).values()];
  return takeTurns(folders.map((some) => takeTurns([...groups(some, ({ kind }) => kind).values()]))).slice(0, count);
}

/** Numbers from 0 up to 1, after mulberry32: `Math.random` takes no seed. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffle(items, next) {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [result[i], result[j]] = [result[j], result[i]];
  }
  return result;
}

function groups(items, keyOf) {
  const result = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!result.has(key)) result.set(key, []);
    result.get(key).push(item);
  }
  return result;
}

/** The first of each list, then the second of each, until all are empty. */
function takeTurns(lists) {
  const rounds = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: rounds }, (_, round) => lists.flatMap((list) => list.slice(round, round + 1))).flat();
}
