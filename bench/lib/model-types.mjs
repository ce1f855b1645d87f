/** The source of an application with so many models in a ring and four statements for each of them. */
export function modelApplication(models, orm = "stoa/orm") {
  const parts = Array.from({ length: models }, (_, index) => model(index, models));
  return `import { avg, count, F, field, type Manager, Model, max, Q, sum } from "${orm}";\n${parts.join("")}`;
}

function model(index, models) {
  const name = (at) => `Model${(at + models) % models}`;
  const [here, next, back] = [name(index), name(index + 1), name(index - 1)];
  return `
export class ${here} extends Model("model${index}", {
  id: field.auto(),
  title: field.char({ maxLength: 50 }),
  body: field.text({ default: "" }),
  year: field.int({ null: true }),
  price: field.decimal({ precision: 10, scale: 2, default: "0" }),
  status: field.enum(["draft", "published"], { default: "draft" }),
  active: field.bool({ default: true }),
  createdAt: field.datetime({ autoNowAdd: true }),
  get next() { return field.foreignKey(() => ${next}); },
  get editor() { return field.foreignKey(() => ${name(index + 7)}, { null: true }); },
  get backs() { return field.reverse(() => ${back}, "next"); },
  get tags() { return field.manyToMany(() => ${name(index + 3)}); },
}) {
  declare static objects: Manager<${here}>;
  get label() { return this.title; }
}
export const list${index} = async () => {
  const rows = await ${here}.objects
    .filter({ year__gte: 2000, next__title__icontains: "x", backs__year__in: [1, 2], status: "draft" })
    .exclude(Q({ active: false }).or({ createdAt__year__lt: 1990 }))
    .selectRelated("next__editor")
    .orderBy("-year", "next__title")
    .limit(20);
  return rows.map((row) => row.next.editor?.label ?? row.label);
};
export const loaded${index} = async () => {
  const rows = await ${here}.objects
    .annotate({ n: count("backs"), newest: max("backs__createdAt") })
    .filter({ n__gte: 1, active: true })
    .prefetchRelated("tags", "backs__tags");
  return rows.map((row) => row.n + row.tags.length + row.backs.length);
};
export const groups${index} = async () => {
  const rows = await ${here}.objects.values("status", "next__title").annotate({ n: count("id"), mean: avg("year") }).filter({ n__gt: 1 }).orderBy("-n");
  const { total } = await ${here}.objects.aggregate({ total: sum("price") });
  return [rows.map((row) => row.next__title + row.n), total];
};
export const write${index} = async () => {
  const row = await ${here}.objects.create({ title: "x", next: 1, status: "published" });
  await ${here}.objects.filter({ id: row.id }).update({ year: F("year").plus(1), editor: null });
  const [found] = await ${here}.objects.getOrCreate({ title: "y", next: row.nextId }, { year: 1 });
  return found.label;
};
`;
}
