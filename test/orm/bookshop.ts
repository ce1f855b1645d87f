import { field, type Manager, Model, type QuerySet, softDelete, timestamps } from "stoa/orm";

/** The models that most tests use. */

export class Country extends Model("countries", {
  id: field.auto(),
  code: field.char({ maxLength: 2, unique: true }),
  name: field.char({ maxLength: 80 }),
}) {}

export class Author extends Model("authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100, index: true }),
  email: field.text({ null: true, unique: true }),
  country: field.foreignKey(() => Country, { null: true, relatedName: "authors", onDelete: "set null" }),
  get mentor() {
    return field.foreignKey(() => Author, { null: true, onDelete: "set null" });
  },
  get books() {
    return field.reverse(() => Book, "author");
  },
  get profile() {
    return field.reverseOne(() => Profile, "author");
  },
}) {
  declare static objects: Manager<Author>;

  get shout(): string {
    return this.name.toUpperCase();
  }
}

export class Profile extends Model("profiles", {
  author: field.oneToOne(() => Author, { primaryKey: true }),
  bio: field.text({ default: "" }),
  settings: field.json<{ theme?: string; sizes?: number[]; deep?: { on: boolean } }>({ default: {} }),
}) {}

export class Tag extends Model("tags", {
  id: field.auto(),
  name: field.char({ maxLength: 40, unique: true }),
  get books() {
    return field.reverse(() => Book, "tags");
  },
}) {}

export class Book extends Model(
  "books",
  {
    id: field.auto(),
    title: field.char({ maxLength: 200 }),
    author: field.foreignKey(() => Author),
    year: field.int({ null: true }),
    price: field.decimal({ precision: 10, scale: 2, default: "0" }),
    stock: field.int({ default: 0, check: "stock >= 0" }),
    status: field.enum(["draft", "published", "sold_out"], { default: "draft" }),
    keywords: field.array(field.text(), { default: [] }),
    published: field.datetime({ null: true }),
    tags: field.manyToMany(() => Tag),
  },
  { unique: [["author", "title"]], indexes: [{ expressions: ["lower(title)"] }, ["year", "title"]] },
) {
  declare static objects: Manager<Book>;

  get label(): string {
    return `${this.title} (${this.year ?? "n.d."})`;
  }

  static recent(): QuerySet<Book> {
    return Book.objects.filter({ year__gte: 2000 });
  }
}

export class Note extends Model("notes", {
  id: field.bigAuto(),
  text: field.text(),
  secret: field.text({ hidden: true, default: "hush" }),
  ...timestamps(),
  ...softDelete(),
}) {}

export const bookshop = [Country, Author, Profile, Tag, Book, Note];

/** Three authors, six books, three tags. */
export async function seed(): Promise<void> {
  const [us, gb] = await Country.objects.bulkCreate([
    { code: "us", name: "United States" },
    { code: "gb", name: "United Kingdom" },
  ]);
  const ursula = await Author.objects.create({ name: "Ursula K. Le Guin", email: "ursula@example.org", country: us! });
  const iain = await Author.objects.create({ name: "Iain Banks", country: gb! });
  const octavia = await Author.objects.create({ name: "Octavia Butler", mentor: ursula });
  await Profile.objects.create({
    author: ursula,
    bio: "Earthsea",
    settings: { theme: "dark", sizes: [1, 2], deep: { on: true } },
  });
  const books = await Book.objects.bulkCreate([
    { title: "A Wizard of Earthsea", author: ursula, year: 1968, price: "10.50", stock: 3, keywords: ["magic", "sea"] },
    { title: "The Dispossessed", author: ursula, year: 1974, price: "12.00", stock: 0, status: "sold_out" },
    { title: "Lavinia", author: ursula, year: 2008, price: "9.99", stock: 5, status: "published" },
    {
      title: "Consider Phlebas",
      author: iain,
      year: 1987,
      price: "8.00",
      stock: 7,
      status: "published",
      keywords: ["space"],
    },
    {
      title: "Matter",
      author: iain,
      year: 2008,
      price: "11.00",
      stock: 1,
      status: "published",
      keywords: ["space", "war"],
    },
    { title: "Kindred", author: octavia, year: null, price: "7.25", stock: 2 },
  ]);
  const [fantasy, sf, classic] = await Tag.objects.bulkCreate([
    { name: "fantasy" },
    { name: "sf" },
    { name: "classic" },
  ]);
  await books[0]!.related("tags").add(fantasy!, classic!);
  await books[1]!.related("tags").add(sf!, classic!);
  await books[3]!.related("tags").add(sf!);
  await books[4]!.related("tags").add(sf!);
}
