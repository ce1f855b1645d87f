/** The schema and resolvers of the GraphQL workloads, the same for every server. */
export const typeDefs = `
  type Query {
    hello: String!
    books: [Book!]!
  }
  type Book {
    id: ID!
    title: String!
    year: Int
    author: Author!
  }
  type Author {
    id: ID!
    name: String!
  }
`;

const authors = Array.from({ length: 5 }, (_, n) => ({ id: String(n), name: `Author number ${n}` }));
const books = Array.from({ length: 20 }, (_, n) => ({
  id: String(n),
  title: `Book number ${n}`,
  year: 1960 + n,
  authorId: n % 5,
}));

export const resolvers = {
  Query: { hello: () => "world", books: () => books },
  // As it would be read from a database: later.
  Book: { author: async (book) => authors[book.authorId] },
};

/** The fields of a workload that sends one query. */
export function querying(query, data) {
  return {
    kind: "graphql",
    method: "POST",
    path: "/graphql",
    body: { type: "application/json", text: JSON.stringify({ query }) },
    value: { data },
  };
}

export const bookQuery = "{ books { id title year author { id name } } }";

export const bookData = {
  books: books.map(({ authorId, ...book }) => ({ ...book, author: authors[authorId] })),
};
