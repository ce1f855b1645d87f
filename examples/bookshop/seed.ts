import type { Database } from "stoa";
import { Author, Book, Tag } from "./models.js";
import { sortNameOf } from "./sort-name.js";

const shelf = [
  {
    name: "Ursula K. Le Guin",
    born: 1929,
    books: [
      { isbn: "9780547773742", title: "A Wizard of Earthsea", year: 1968, price: "10.50", stock: 3, tags: ["fantasy"] },
      {
        isbn: "9780061054884",
        title: "The Dispossessed",
        year: 1974,
        price: "12.00",
        stock: 1,
        tags: ["sf", "utopia"],
      },
      { isbn: "9780156033688", title: "Lavinia", year: 2008, price: "9.99", stock: 5, tags: ["historical"] },
    ],
  },
  {
    name: "Iain Banks",
    born: 1954,
    books: [
      { isbn: "9780316005388", title: "Consider Phlebas", year: 1987, price: "8.00", stock: 7, tags: ["sf"] },
      { isbn: "9780316005371", title: "Matter", year: 2008, price: "11.00", stock: 2, tags: ["sf"] },
    ],
  },
  {
    name: "Octavia E. Butler",
    born: 1947,
    books: [
      { isbn: "9780807083697", title: "Kindred", year: 1979, price: "7.25", stock: 4, tags: ["historical", "sf"] },
    ],
  },
];

/** Fills an empty shop. Workers that start together wait for each other, and one of them does it. */
export async function seed(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute("select pg_advisory_xact_lock($1)", [seedLock]);
    if (await Author.objects.exists()) return;
    const names = [...new Set(shelf.flatMap(({ books }) => books.flatMap(({ tags }) => tags)))];
    const tags = await Tag.objects.bulkCreate(names.map((name) => ({ name })));
    for (const { name, born, books } of shelf) {
      const author = await Author.objects.create({ name, born, sortName: sortNameOf(name) });
      for (const { tags: wanted, ...fields } of books) {
        const book = await Book.objects.create({ ...fields, author });
        await book.tags.set(tags.filter((tag) => wanted.includes(tag.name)));
      }
    }
  });
}

/** A number that nothing else of this database locks. */
const seedLock = 8_150_001;
