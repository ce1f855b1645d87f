import { field, type Manager, Model } from "../../../src/entry/orm.js";

/** The models that are also written in judge.py. */

export class Country extends Model("dj_countries", {
  id: field.auto(),
  code: field.char({ maxLength: 2 }),
  name: field.char({ maxLength: 80 }),
  get authors() {
    return field.reverse(() => Author, "country");
  },
}) {}

export class Author extends Model("dj_authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  email: field.text({ null: true }),
  born: field.date({ null: true }),
  country: field.foreignKey(() => Country, { null: true }),
  get mentor() {
    return field.foreignKey(() => Author, { null: true });
  },
  get pupils() {
    return field.reverse(() => Author, "mentor");
  },
  get books() {
    return field.reverse(() => Book, "author");
  },
}) {
  declare static objects: Manager<Author>;
}

export class Tag extends Model("dj_tags", {
  id: field.auto(),
  name: field.char({ maxLength: 40 }),
  get books() {
    return field.reverse(() => Book, "tags");
  },
}) {}

export class Book extends Model("dj_books", {
  id: field.auto(),
  title: field.char({ maxLength: 200 }),
  author: field.foreignKey(() => Author),
  year: field.int({ null: true }),
  price: field.decimal({ precision: 10, scale: 2 }),
  stock: field.int(),
  rating: field.float({ null: true }),
  status: field.char({ maxLength: 20 }),
  active: field.bool(),
  published: field.datetime({ null: true }),
  keywords: field.array(field.text()),
  data: field.json<Record<string, unknown>>({ null: true }),
  tags: field.manyToMany(() => Tag),
  get reviews() {
    return field.reverse(() => Review, "book");
  },
}) {
  declare static objects: Manager<Book>;
}

export class Review extends Model("dj_reviews", {
  id: field.auto(),
  book: field.foreignKey(() => Book),
  stars: field.int(),
  text: field.text({ null: true }),
}) {}

export const shop = [Country, Author, Tag, Book, Review];

/** Numbers that are the same in each run. */
export function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export const titles = [
  "Dune",
  "dune messiah",
  "A 100% wolf",
  "under_score",
  "Lavinia",
  "Matter",
  "back\\slash",
  "",
  "Äther",
];
export const statuses = ["draft", "published", "sold_out"];
export const keywords = ["sea", "space", "magic", "war"];

export async function fill(): Promise<void> {
  const next = numbers(7);
  const pick = <T>(list: readonly T[]): T => list[next(list.length)]!;
  const maybe = <T>(value: T): T | null => (next(4) === 0 ? null : value);
  await Country.objects.bulkCreate(
    ["us", "gb", "fr"].map((code, index) => ({ code, name: ["United States", "United Kingdom", "France"][index]! })),
  );
  for (let i = 0; i < 12; i++) {
    await Author.objects.create({
      name: `${pick(["Ann", "Bob", "Cy"])} ${pick(["Le Guin", "Banks", "Butler"])}`,
      email: maybe(`a${i}@example.org`),
      born: maybe(`19${30 + next(60)}-0${1 + next(9)}-1${next(9)}`),
      country: maybe(1 + next(3)),
      mentor: i === 0 ? null : maybe(1 + next(i)),
    });
  }
  await Tag.objects.bulkCreate(["sf", "fantasy", "draft", "classic"].map((name) => ({ name })));
  const books = await Book.objects.bulkCreate(
    Array.from({ length: 60 }, () => ({
      title: pick(titles),
      author: 1 + next(11),
      year: maybe(1990 + next(20)),
      price: `${next(30)}.${10 + next(90)}`,
      stock: next(6),
      rating: maybe(next(10) / 2),
      status: pick(statuses),
      active: next(2) === 0,
      published: maybe(new Date(Date.UTC(2000 + next(5), next(12), 1 + next(28), next(24), next(60)))),
      keywords: keywords.filter(() => next(3) === 0),
      data: maybe({ color: pick(["red", "blue"]), size: next(4), deep: { on: next(2) === 0 } }),
    })),
  );
  for (const book of books) await book.related("tags").set([1, 2, 3, 4].filter(() => next(3) === 0));
  await Review.objects.bulkCreate(
    Array.from({ length: 80 }, () => ({
      book: 1 + next(50),
      stars: 1 + next(5),
      text: maybe(pick(["good", "bad", "so so"])),
    })),
  );
}
