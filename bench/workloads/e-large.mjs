const book = (n) => ({
  id: n,
  title: `Book number ${n}`,
  author: "Ursula K. Le Guin",
  year: 1969,
  price: 9.5,
  stock: n,
});

/** 10 KiB of JSON, serialised for every response. */
export default {
  key: "e",
  name: "large",
  kind: "json",
  method: "GET",
  path: "/books",
  value: Array.from({ length: 103 }, (_, n) => book(n)),
};
