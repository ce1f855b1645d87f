const columns = `b.id, b.title, b.author_id as "authorId", b.year, b.in_stock as "inStock", b.price, b.created_at as "createdAt"`;
const authorColumns = `a.id as "author.id", a.name as "author.name", a.country as "author.country"`;

/** The statements for the stores with hand-written SQL. */
export const statements = {
  book: `select ${columns} from books b where b.id = $1`,
  books: `select ${columns} from books b order by b.id limit $1`,
  join: `select ${columns}, ${authorColumns} from books b join authors a on a.id = b.author_id order by b.id limit $1`,
  add: `insert into books as b (title, author_id, year, in_stock, price) values ($1, $2, $3, $4, $5) returning ${columns}`,
};

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
