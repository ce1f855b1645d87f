import type { Database } from "stoa";
import { F, sum } from "stoa/orm";
import { Conflict } from "./errors.js";
import { Book, Order, OrderLine } from "./models.js";
import type { NewOrder } from "./schemas.js";

/** Places an order and takes its books from the stock: all of it, or nothing. Gives the id of the order. */
export function placeOrder(db: Database, { customer, email, lines }: NewOrder): Promise<number> {
  return db.transaction(async () => {
    const order = await Order.objects.create({ customer, email });
    const taken: { order: Order; book: Book; quantity: number; unitPrice: string }[] = [];
    // Books are taken in the same order by everybody, so that no two orders wait for each other.
    for (const { bookId, quantity } of [...lines].sort((a, b) => a.bookId - b.bookId)) {
      const book = await takeCopies(bookId, quantity);
      taken.push({ order, book, quantity, unitPrice: book.price });
    }
    await OrderLine.objects.bulkCreate(taken);
    const { total } = await order.lines.aggregate({ total: sum(F("unitPrice").times(F("quantity"))) });
    order.total = String(total);
    await order.save();
    return order.id;
  });
}

/** Cancels an order that has not been shipped, and puts its books back. */
export function cancelOrder(db: Database, id: number): Promise<void> {
  return db.transaction(async () => {
    // Of two who cancel at the same time, one changes the row, and the other finds it changed.
    const changed = await Order.objects.filter({ id, status: "placed" }).update({ status: "cancelled" });
    if (changed === 0) {
      const { status } = await Order.objects.get({ id });
      throw new Conflict(`The order is ${status}`);
    }
    for (const { bookId, quantity } of await OrderLine.objects.filter({ order: id }).orderBy("book")) {
      await Book.objects.filter({ id: bookId }).update({ stock: F("stock").plus(quantity) });
    }
  });
}

/**
 * Looking and taking are one statement: of two buyers of the last copy, the second waits until the first is done, and
 * then finds no row with enough in stock.
 */
async function takeCopies(bookId: number, quantity: number): Promise<Book> {
  const [book] = await Book.objects
    .filter({ id: bookId, stock__gte: quantity })
    .updateReturning({ stock: F("stock").minus(quantity) });
  if (book !== undefined) return book;
  const { title, stock } = await Book.objects.get({ id: bookId });
  throw new Conflict(`There are ${stock} copies of ${title}, not ${quantity}`);
}
