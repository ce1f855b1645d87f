import { migration, op } from "stoa/migrations";

export default migration({
  operations: [
    op.createTable("authors", {
      columns: {
        id: { type: "integer", identity: true },
        name: { type: "varchar(100)" },
        born: { type: "integer", nullable: true, comment: "Year of birth" },
      },
      primaryKey: ["id"],
    }),
    op.createTable("tags", {
      columns: { id: { type: "integer", identity: true }, name: { type: "varchar(40)" } },
      primaryKey: ["id"],
      unique: { tags_name_key: { columns: ["name"] } },
    }),
    op.createTable("books", {
      columns: {
        id: { type: "integer", identity: true },
        isbn: { type: "varchar(13)", comment: "ISBN-13 without hyphens" },
        title: { type: "varchar(200)" },
        author_id: { type: "integer" },
        year: { type: "integer", nullable: true },
        price: { type: "numeric(10, 2)" },
        stock: { type: "integer", default: "0" },
        created_at: { type: "timestamp(3) with time zone", default: "CURRENT_TIMESTAMP" },
        updated_at: { type: "timestamp(3) with time zone", default: "CURRENT_TIMESTAMP" },
      },
      primaryKey: ["id"],
      unique: { books_isbn_key: { columns: ["isbn"] } },
      foreignKeys: {
        books_author_id_fkey: { columns: ["author_id"], table: "authors", references: ["id"], onDelete: "restrict" },
      },
      checks: {
        books_isbn_check: "isbn ~ '^[0-9]{13}$'",
        books_price_check: "price >= 0",
        books_stock_check: "stock >= 0",
      },
      indexes: {
        books_title_idx: { on: ["title"] },
        books_author_id_idx: { on: ["author_id"] },
        books_price_id_idx: { on: ["price", "id"] },
      },
    }),
    op.createTable("orders", {
      columns: {
        id: { type: "integer", identity: true },
        customer: { type: "varchar(100)" },
        email: { type: "varchar(254)" },
        status: { type: "text", default: "'placed'::text" },
        total: { type: "numeric(12, 2)", default: "0" },
        placed_at: { type: "timestamp(3) with time zone", default: "CURRENT_TIMESTAMP" },
      },
      primaryKey: ["id"],
      checks: { orders_status_choices: "\"status\" IN ('placed', 'shipped', 'cancelled')" },
      indexes: {
        orders_email_idx: { on: ["email"] },
        orders_status_idx: { on: ["status"] },
        orders_placed_at_id_idx: { on: ["placed_at", "id"] },
      },
    }),
    op.createTable("order_lines", {
      columns: {
        id: { type: "integer", identity: true },
        order_id: { type: "integer" },
        book_id: { type: "integer" },
        quantity: { type: "integer" },
        unit_price: { type: "numeric(10, 2)", comment: "The price when the order was placed" },
      },
      primaryKey: ["id"],
      unique: { order_lines_order_id_book_id_key: { columns: ["order_id", "book_id"] } },
      foreignKeys: {
        order_lines_order_id_fkey: { columns: ["order_id"], table: "orders", references: ["id"], onDelete: "cascade" },
        order_lines_book_id_fkey: { columns: ["book_id"], table: "books", references: ["id"], onDelete: "restrict" },
      },
      checks: { order_lines_quantity_check: "quantity > 0" },
      indexes: { order_lines_book_id_idx: { on: ["book_id"] } },
    }),
    op.createTable("books_tags", {
      columns: { book_id: { type: "integer" }, tag_id: { type: "integer" } },
      primaryKey: ["book_id", "tag_id"],
      foreignKeys: {
        books_tags_book_id_fkey: { columns: ["book_id"], table: "books", references: ["id"], onDelete: "cascade" },
        books_tags_tag_id_fkey: { columns: ["tag_id"], table: "tags", references: ["id"], onDelete: "cascade" },
      },
      indexes: { books_tags_tag_id_idx: { on: ["tag_id"] } },
    }),
  ],
});
