const tags = Array.from({ length: 16 }, (_, n) => ({ id: n, name: `tag number ${n}`, active: n % 2 === 0 }));

/** 1 KiB of JSON, parsed and serialised again. */
export default {
  key: "d",
  name: "echo",
  kind: "echo",
  method: "POST",
  path: "/echo",
  value: { title: "The Left Hand of Darkness", year: 1969, text: "x".repeat(216), tags },
};
