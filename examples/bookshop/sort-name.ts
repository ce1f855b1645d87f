/** `Ursula K. Le Guin` is found under `Le Guin, Ursula K.`: small words before the last name belong to it. */
export function sortNameOf(name: string): string {
  const words = name.trim().split(/\s+/);
  let first = words.length - 1;
  while (first > 1 && particles.has(words[first - 1]!.toLowerCase())) first--;
  return first <= 0 ? words.join(" ") : `${words.slice(first).join(" ")}, ${words.slice(0, first).join(" ")}`;
}

const particles = new Set(["da", "de", "di", "du", "la", "le", "van", "von"]);
