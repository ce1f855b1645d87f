/** A small generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const telling = [
  "\r",
  "\n",
  "\r\n",
  "\r\n\r\n",
  "\0",
  "\x01",
  "\t",
  " ",
  ":",
  ",",
  ";",
  "=",
  "/",
  "@",
  "#",
  "%",
  "\x7f",
  "\x80",
  "\xff",
  "0",
  "1",
  "-",
  "+",
  "a",
  "F",
  "chunked",
  "close",
  "HTTP/1.0",
  "Content-Length: 3\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Host: b\r\n",
  "Connection: close\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
];

/** One to four random changes to a request. */
export function mutate(bytes: string, others: readonly string[], random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  let text = bytes;
  for (let count = 1 + Math.floor(random() * 4); count > 0; count--) {
    const at = Math.floor(random() * (text.length + 1));
    const length = 1 + Math.floor(random() * 8);
    switch (Math.floor(random() * 7)) {
      case 0:
        text = text.slice(0, at) + pick(telling) + text.slice(at);
        break;
      case 1:
        text = text.slice(0, at) + text.slice(at + length);
        break;
      case 2:
        text = text.slice(0, at) + text.slice(at, at + length) + text.slice(at);
        break;
      case 3:
        text = text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1);
        break;
      case 4:
        text = text.slice(0, at) + pick(others).slice(Math.floor(random() * 40));
        break;
      case 5:
        text = text.slice(0, at) + pick(telling) + text.slice(at + 1);
        break;
      default:
        text = text.replace(/\d+/, (digits) => String(Math.max(0, Number(digits) + Math.floor(random() * 5) - 2)));
    }
  }
  return text;
}
