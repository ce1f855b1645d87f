const columns = `b.id, b.title, b.author_id as "authorId", b.year, b.in_stock as "inStock", b.price, b.created_at as "createdAt"`;
const authorColumns = `a.id as "author.id", a.name as "author.name", a.country as "author.country"`;

/** The statements for the stores with hand-written SQL. */
export const statements = {
  book: `select ${columns} from books b where b.id = $1`,
  books: `select ${columns} from books b order by b.id limit $1`,
  join: `select ${columns}, ${authorColumns} from books b join authors a on a.id = b.author_id order by b.id limit $1`,
  shelf: `select a.id as "author.id", a.name as "author.name", a.country as "author.country", ${columns}
    from (select * from authors order by id limit $1) a
    left join lateral (select * from books where author_id = a.id order by id desc limit $2) b on true
    order by a.id, b.id desc`,
  addAuthor: "insert into authors (name, country) values ($1, $2) returning id, name, country",
  addBooks: `insert into books as b (title, author_id, year, in_stock, price)
    select * from unnest($1::text[], $2::int[], $3::int[], $4::bool[], $5::float8[]) returning ${columns}`,
  add: `insert into books as b (title, author_id, year, in_stock, price) values ($1, $2, $3, $4, $5) returning ${columns}`,
};

/** The rows of authors and books, as they are in the response: authors with their books. */
export function shelve(rows) {
  const authors = [];
  for (const { "author.id": id, "author.name": name, "author.country": country, ...book } of rows) {
    if (authors.at(-1)?.id !== id) authors.push({ id, name, country, books: [] });
    if (book.id !== null) authors.at(-1).books.push(book);
  }
  return authors;
}

/** The parameters of `addBooks`, a list for each column. */
export function columnsOf(authorId, books) {
  return [
    books.map(({ title }) => title),
    books.map(() => authorId),
    books.map(({ year }) => year),
    books.map(({ inStock }) => inStock),
    books.map(({ price }) => price),
  ];
}

/** A row of the join, as it is in the response. */
export function nest(row) {
  return {
    id: row.id,
    title: row.title,
    authorId: row.authorId,
    year: row.year,
    inStock: row.inStock,
    price: row.price,
    createdAt: row.createdAt,
    author: { id: row["author.id"], name: row["author.name"], country: row["author.country"] },
  };
}
