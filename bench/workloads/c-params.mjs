const others = Array.from({ length: 33 }, (_, n) => [
  `/collection${n}`,
  `/collection${n}/{id}`,
  `/collection${n}/{id}/parts/{part}`,
]).flat();

/** Two path parameters among 100 routes, and one query parameter: the response shows all three. */
export default {
  key: "c",
  name: "params",
  kind: "params",
  method: "GET",
  route: "/users/{user}/posts/{post}",
  others,
  path: "/users/ada/posts/1815?q=engine",
  value: { user: "ada", post: "1815", q: "engine" },
};
