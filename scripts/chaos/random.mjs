/** A source of numbers that gives the same ones for the same seed (xorshift, after a hash of the text). */
export function seeded(text) {
  let state = 2_166_136_261;
  for (const letter of String(text)) state = Math.imul(state ^ letter.charCodeAt(0), 16_777_619) >>> 0;
  state ||= 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 8; i++) next();
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}
