import { count } from "../../../src/entry/orm.js";
import { Author, Book } from "./models.js";
import type { Pair } from "./pairs.js";

/** A query whose result differs from Django's by design. Each is explained in docs/coming-from.md. */
interface Difference {
  readonly why: string;
  readonly pair: Pair;
  /** The result of ours, written in SQL: one value, or an array. */
  readonly sql: string;
}

export const differences: readonly Difference[] = [
  {
    why: "no row appears twice because of a relation to many",
    pair: [
      () => Book.objects.filter({ tags__id__gt: 0, id__lt: 6 }).count(),
      "Book.objects.filter(tags__id__gt=0, id__lt=6).count()",
    ],
    sql: "select count(*)::int from dj_books b where id < 6 and exists (select from dj_books_tags t where t.dj_book_id = b.id)",
  },
  {
    why: "isnull through a relation to many needs a related row",
    pair: [
      () => Author.objects.filter({ books__year__isnull: true }).orderBy("id").flat("id"),
      "Author.objects.filter(books__year__isnull=True).distinct().order_by('id').values_list('id', flat=True)",
    ],
    sql: "select array_agg(id order by id) from dj_authors a where exists (select from dj_books b where b.author_id = a.id and b.year is null)",
  },
  {
    why: "a count does not depend on a filter of the same relation",
    pair: [
      () =>
        Author.objects
          .filter({ books__stock: 0 })
          .annotate({ n: count("books") })
          .orderBy("id")
          .flat("n"),
      "Author.objects.filter(books__stock=0).annotate(n=Count('books')).order_by('id').values_list('n', flat=True)",
    ],
    sql: "select array_agg((select count(*)::int from dj_books b where b.author_id = a.id) order by id) from dj_authors a where exists (select from dj_books b where b.author_id = a.id and b.stock = 0)",
  },
  {
    why: "two conditions of exclude must hold for the same related row",
    pair: [
      () => Author.objects.exclude({ books__stock: 0, books__active: true }).orderBy("id").flat("id"),
      "Author.objects.exclude(books__stock=0, books__active=True).order_by('id').values_list('id', flat=True)",
    ],
    sql: "select array_agg(id order by id) from dj_authors a where not exists (select from dj_books b where b.author_id = a.id and b.stock = 0 and b.active)",
  },
  {
    why: "weekDay counts from 0 for Sunday",
    pair: [
      () => Book.objects.filter({ published__weekDay: 1 }).count(),
      "Book.objects.filter(published__week_day=1).count()",
    ],
    sql: "select count(*)::int from dj_books where extract(dow from published at time zone 'UTC') = 1",
  },
  {
    why: "null in a list matches null",
    pair: [
      () => Book.objects.filter({ year__in: [2000, null] }).count(),
      "Book.objects.filter(year__in=[2000, None]).count()",
    ],
    sql: "select count(*)::int from dj_books where year = 2000 or year is null",
  },
];
