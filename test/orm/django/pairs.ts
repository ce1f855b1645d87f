import { sql } from "../../../src/engines/db/sql/sql.js";
import {
  abs,
  arrayAgg,
  avg,
  boolAnd,
  boolOr,
  castTo,
  ceil,
  coalesce,
  concat,
  corr,
  count,
  denseRank,
  exists,
  extract,
  F,
  floor,
  greatest,
  lag,
  lead,
  least,
  length,
  lower,
  max,
  min,
  nullIf,
  outer,
  Q,
  rank,
  raw,
  regrIntercept,
  regrSlope,
  replace,
  round,
  rowNumber,
  stddev,
  stringAgg,
  subquery,
  substring,
  sum,
  trim,
  truncate,
  upper,
  value,
  variance,
  when,
} from "../../../src/entry/orm.js";
import { Author, Book, Country, Review, Tag } from "./models.js";

/** A query of ours, and the same one in Python. */
export type Pair = readonly [ours: () => PromiseLike<unknown> | unknown, django: string];

const books = Book.objects.orderBy("id");

export const pairs: readonly Pair[] = [
  // Rows
  [() => books, "Book.objects.order_by('id')"],
  [() => books.limit(5), "Book.objects.order_by('id')[:5]"],
  [() => books.offset(50), "Book.objects.order_by('id')[50:]"],
  [() => books.offset(10).limit(3), "Book.objects.order_by('id')[10:13]"],
  [() => books.reverse(), "Book.objects.order_by('id').reverse()"],
  [() => books.none(), "Book.objects.none()"],
  [() => books.first(), "Book.objects.order_by('id').first()"],
  [() => books.last(), "Book.objects.order_by('id').last()"],
  [() => Book.objects.count(), "Book.objects.count()"],
  [() => Book.objects.filter({ stock: 99 }).exists(), "Book.objects.filter(stock=99).exists()"],
  [() => Book.objects.get({ id: 7 }), "Book.objects.get(id=7)"],
  [() => Book.objects.get({ pk: 7 }), "Book.objects.get(pk=7)"],
  [async () => [...(await Book.objects.inBulk([1, 2, 99])).keys()].sort(), "sorted(Book.objects.in_bulk([1, 2, 99]))"],
  [() => books.limit(10).count(), "Book.objects.order_by('id')[:10].count()"],
  [() => books.offset(55).limit(10).count(), "Book.objects.order_by('id')[55:65].count()"],
  // Order
  [() => Book.objects.orderBy("-year", "id"), "Book.objects.order_by(F('year').desc(), 'id')"],
  [() => Book.objects.orderBy("year", "-id"), "Book.objects.order_by('year', '-id')"],
  [() => Book.objects.orderBy("author__name", "id"), "Book.objects.order_by('author__name', 'id')"],
  [() => Book.objects.orderBy("-author__name", "-id"), "Book.objects.order_by('-author__name', '-id')"],
  [() => Book.objects.orderBy("author__country__code", "id"), "Book.objects.order_by('author__country__code', 'id')"],
  [() => Book.objects.orderBy("author__mentor__name", "id"), "Book.objects.order_by('author__mentor__name', 'id')"],
  [() => Book.objects.orderBy("published__year", "id"), "Book.objects.order_by('published__year', 'id')"],
  [() => Book.objects.orderBy("-published__month", "id"), "Book.objects.order_by('-published__month', 'id')"],
  [() => Book.objects.orderBy("data__size", "id"), "Book.objects.order_by('data__size', 'id')"],
  [() => Book.objects.orderBy("author", "id"), "Book.objects.order_by('author', 'id')"],
  [() => Book.objects.orderBy("pk"), "Book.objects.order_by('pk')"],
  [
    () => Book.objects.orderBy(F("year").asc({ nulls: "first" }), "id"),
    "Book.objects.order_by(F('year').asc(nulls_first=True), 'id')",
  ],
  [
    () => Book.objects.orderBy(F("year").desc({ nulls: "last" }), "id"),
    "Book.objects.order_by(F('year').desc(nulls_last=True), 'id')",
  ],
  [() => Book.objects.orderBy(lower("title"), "id"), "Book.objects.order_by(Lower('title'), 'id')"],
  [() => Book.objects.orderBy(length("title").desc(), "id"), "Book.objects.order_by(Length('title').desc(), 'id')"],
  [() => Book.objects.orderBy(F("stock").times(-1), "id"), "Book.objects.order_by(F('stock') * -1, 'id')"],
  // Conditions
  [() => books.filter({ stock: 1, active: true }), "Book.objects.filter(stock=1, active=True).order_by('id')"],
  [() => books.filter(Q({ stock: 1 }).or({ stock: 2 })), "Book.objects.filter(Q(stock=1) | Q(stock=2)).order_by('id')"],
  [() => books.filter(Q({ stock: 1 }).not()), "Book.objects.filter(~Q(stock=1)).order_by('id')"],
  [() => books.exclude({ year__gt: 2000 }), "Book.objects.exclude(year__gt=2000).order_by('id')"],
  [() => books.exclude({ year: null }), "Book.objects.exclude(year=None).order_by('id')"],
  [() => books.filter({ year: null }), "Book.objects.filter(year=None).order_by('id')"],
  [() => books.exclude({ year: 2000, stock: 1 }), "Book.objects.exclude(year=2000, stock=1).order_by('id')"],
  [
    () => books.filter({ stock__gt: F("year").minus(2000) }),
    "Book.objects.filter(stock__gt=F('year') - 2000).order_by('id')",
  ],
  [
    () => books.filter({ title__contains: F("status") }),
    "Book.objects.filter(title__contains=F('status')).order_by('id')",
  ],
  [() => books.filter({ author__name: "Ann Banks" }), "Book.objects.filter(author__name='Ann Banks').order_by('id')"],
  [() => books.filter({ author__mentor__mentor: 1 }), "Book.objects.filter(author__mentor__mentor=1).order_by('id')"],
  [() => books.filter({ tags__name: "sf" }), "Book.objects.filter(tags__name='sf').distinct().order_by('id')"],
  [() => books.exclude({ tags__name: "sf" }), "Book.objects.exclude(tags__name='sf').order_by('id')"],
  [() => books.filter({ tags: null }), "Book.objects.filter(tags=None).order_by('id')"],
  [() => books.filter({ reviews: null }), "Book.objects.filter(reviews=None).order_by('id')"],
  [() => books.exclude({ reviews: null }), "Book.objects.exclude(reviews=None).order_by('id')"],
  [() => books.filter({ tags__isnull: false }), "Book.objects.filter(tags__isnull=False).distinct().order_by('id')"],
  [
    () => books.filter({ tags__name: "sf" }).filter({ tags__name: "draft" }),
    "Book.objects.filter(tags__name='sf').filter(tags__name='draft').distinct().order_by('id')",
  ],
  [
    () => books.filter({ reviews__stars__gte: 4, reviews__text: "good" }),
    "Book.objects.filter(reviews__stars__gte=4, reviews__text='good').distinct().order_by('id')",
  ],
  [
    () => books.filter({ reviews__stars__gte: 4 }).filter({ reviews__text: "good" }),
    "Book.objects.filter(reviews__stars__gte=4).filter(reviews__text='good').distinct().order_by('id')",
  ],
  [
    () => books.filter({ author__in: Author.objects.filter({ name__startswith: "Ann" }) }),
    "Book.objects.filter(author__in=Author.objects.filter(name__startswith='Ann')).order_by('id')",
  ],
  [
    () => books.filter({ year__in: Book.objects.filter({ stock: 0, year__isnull: false }).flat("year") }),
    "Book.objects.filter(year__in=Book.objects.filter(stock=0, year__isnull=False).values('year')).order_by('id')",
  ],
  [
    () => Author.objects.filter(exists(Book.objects.filter({ author: outer("id"), stock: 0 }))).orderBy("id"),
    "Author.objects.filter(Exists(Book.objects.filter(author=OuterRef('id'), stock=0))).order_by('id')",
  ],
  [() => books.filter({ data__deep__on: true }), "Book.objects.filter(data__deep__on=True).order_by('id')"],
  [() => books.filter({ data__hasKey: "color" }), "Book.objects.filter(data__has_key='color').order_by('id')"],
  [
    () => books.filter({ data__hasAnyKeys: ["a", "size"] }),
    "Book.objects.filter(data__has_any_keys=['a', 'size']).order_by('id')",
  ],
  [() => books.filter({ data: null }), "Book.objects.filter(data__isnull=True).order_by('id')"],
  [() => books.filter({ keywords__0: "sea" }), "Book.objects.filter(keywords__0='sea').order_by('id')"],
  [() => books.filter({ keywords: ["sea"] }), "Book.objects.filter(keywords=['sea']).order_by('id')"],
  [() => books.filter({ published__isoWeekDay: 1 }), "Book.objects.filter(published__iso_week_day=1).order_by('id')"],
  [() => books.filter({ published__week__lt: 20 }), "Book.objects.filter(published__week__lt=20).order_by('id')"],
  [
    () => books.filter({ published__date__gt: "2002-01-01" }),
    "Book.objects.filter(published__date__gt=datetime.date(2002, 1, 1)).order_by('id')",
  ],
  [
    () => books.filter({ published__time__lt: "12:00" }),
    "Book.objects.filter(published__time__lt=datetime.time(12)).order_by('id')",
  ],
  // Values
  [() => books.values("id", "title"), "Book.objects.order_by('id').values('id', 'title')"],
  [() => books.valuesList("id", "author__name"), "Book.objects.order_by('id').values_list('id', 'author__name')"],
  [() => books.flat("price"), "Book.objects.order_by('id').values_list('price', flat=True)"],
  [() => books.flat("published"), "Book.objects.order_by('id').values_list('published', flat=True)"],
  [() => books.flat("published__year"), "Book.objects.order_by('id').values_list('published__year', flat=True)"],
  [() => books.flat("keywords"), "Book.objects.order_by('id').values_list('keywords', flat=True)"],
  [() => books.flat("data"), "Book.objects.order_by('id').values_list('data', flat=True)"],
  [() => books.flat("data__color"), "Book.objects.order_by('id').values_list('data__color', flat=True)"],
  [
    () => books.values("author__mentor__country__code"),
    "Book.objects.order_by('id').values('author__mentor__country__code')",
  ],
  [
    () => Book.objects.values("status").distinct().orderBy("status"),
    "Book.objects.values('status').distinct().order_by('status')",
  ],
  [
    () => Book.objects.values("status", "active").distinct().orderBy("status", "active"),
    "Book.objects.values('status', 'active').distinct().order_by('status', 'active')",
  ],
  [
    () => Book.objects.distinct("author").orderBy("author", "-id"),
    "Book.objects.order_by('author_id', '-id').distinct('author_id')",
  ],
  [
    () => Book.objects.distinct().orderBy("author__name", "id"),
    "Book.objects.distinct().order_by('author__name', 'id')",
  ],
  // Expressions
  ...(
    [
      [F("stock").plus(1), "F('stock') + 1"],
      [F("stock").minus(F("year")), "F('stock') - F('year')"],
      [F("price").times(2), "F('price') * 2"],
      [F("stock").modulo(4), "F('stock') % 4"],
      [F("stock").dividedBy(2), "F('stock') / 2"],
      [F("author__name"), "F('author__name')"],
      [lower("title"), "Lower('title')"],
      [upper("author__name"), "Upper('author__name')"],
      [length("title"), "Length('title')"],
      [trim("title"), "Trim('title')"],
      [concat("title", value("-"), "status"), "Concat('title', Value('-'), 'status')"],
      [substring("title", 2, 3), "Substr('title', 2, 3)"],
      [replace("title", "e", "E"), "Replace('title', Value('e'), Value('E'))"],
      [abs("stock"), "Abs('stock')"],
      [ceil("rating"), "Ceil('rating')"],
      [floor("rating"), "Floor('rating')"],
      [round("price"), "Round('price')"],
      [coalesce("year", 0), "Coalesce('year', 0)"],
      [coalesce("author__email", "none"), "Coalesce('author__email', Value('none'), output_field=models.TextField())"],
      [nullIf("stock", 0), "NullIf('stock', Value(0))"],
      [greatest("stock", "year"), "Greatest('stock', 'year')"],
      [least("stock", "year"), "Least('stock', 'year')"],
      [castTo("stock", "text"), "Cast('stock', models.TextField())"],
      [castTo("year", "float"), "Cast('year', models.FloatField())"],
      [truncate("month", "published"), "TruncMonth('published')"],
      [truncate("year", "published"), "TruncYear('published')"],
      [truncate("day", "published"), "TruncDay('published')"],
      [
        truncate("day", "published", { timeZone: "Europe/Berlin" }),
        "TruncDay('published', tzinfo=zoneinfo.ZoneInfo('Europe/Berlin'))",
      ],
      [
        truncate("month", "published", { timeZone: "America/New_York" }),
        "TruncMonth('published', tzinfo=zoneinfo.ZoneInfo('America/New_York'))",
      ],
      [
        extract("hour", "published", { timeZone: "Asia/Kolkata" }),
        "ExtractHour('published', tzinfo=zoneinfo.ZoneInfo('Asia/Kolkata'))",
      ],
      [F("published__year"), "ExtractYear('published')"],
      [F("published__month"), "ExtractMonth('published')"],
      [
        when({ stock: 0 }, "none").when({ stock__lt: 3 }, "few").otherwise("many"),
        "Case(When(stock=0, then=Value('none')), When(stock__lt=3, then=Value('few')), default=Value('many'))",
      ],
      [
        when(Q({ year: null }).or({ active: true }), 1).otherwise(F("stock")),
        "Case(When(Q(year=None) | Q(active=True), then=1), default=F('stock'))",
      ],
      [count("tags"), "Count('tags', distinct=True)"],
      [count("reviews"), "Count('reviews', distinct=True)"],
      [sum("reviews__stars"), "Sum('reviews__stars')"],
      [avg("reviews__stars"), "Avg('reviews__stars')"],
      [max("reviews__stars"), "Max('reviews__stars')"],
      [min("reviews__text"), "Min('reviews__text')"],
      [count("reviews").filter({ stars__gte: 4 }), "Count('reviews', filter=Q(reviews__stars__gte=4))"],
      [count("reviews__stars", { distinct: true }), "Count('reviews__stars', distinct=True)"],
      [rowNumber().over({ orderBy: ["-id"] }), "Window(RowNumber(), order_by='-id')"],
      [
        rowNumber().over({ partitionBy: ["author"], orderBy: ["id"] }),
        "Window(RowNumber(), partition_by='author', order_by='id')",
      ],
      [rank().over({ orderBy: ["stock"] }), "Window(Rank(), order_by='stock')"],
      [
        denseRank().over({ partitionBy: ["status"], orderBy: ["stock"] }),
        "Window(DenseRank(), partition_by='status', order_by='stock')",
      ],
      [lag("stock").over({ orderBy: ["id"] }), "Window(Lag('stock'), order_by='id')"],
      [lead("stock", 2).over({ orderBy: ["id"] }), "Window(Lead('stock', 2), order_by='id')"],
      [
        sum("stock").over({ partitionBy: ["author"], orderBy: ["id"] }),
        "Window(Sum('stock'), partition_by='author', order_by='id')",
      ],
      [
        subquery(
          Review.objects
            .filter({ book: outer("id") })
            .orderBy("-stars", "id")
            .values("stars")
            .limit(1),
        ),
        "Subquery(Review.objects.filter(book=OuterRef('id')).order_by('-stars', 'id').values('stars')[:1])",
      ],
      [
        exists(Review.objects.filter({ book: outer("id"), stars: 5 })),
        "Exists(Review.objects.filter(book=OuterRef('id'), stars=5))",
      ],
    ] as const
  ).map(
    ([ours, django]): Pair => [
      // biome-ignore lint/suspicious/noExplicitAny: expressions of all types.
      () => books.annotate({ x: ours as any }).valuesList("id", "x" as never),
      `Book.objects.annotate(x=${django}).order_by('id').values_list('id', 'x')`,
    ],
  ),
  // Aggregates over all rows
  ...(
    [
      [count(), "Count('*')"],
      [count("year"), "Count('year')"],
      [count("status", { distinct: true }), "Count('status', distinct=True)"],
      [sum("stock"), "Sum('stock')"],
      [sum("price"), "Sum('price')"],
      [sum("rating"), "Sum('rating')"],
      [avg("stock"), "Avg('stock')"],
      [avg("rating"), "Avg('rating')"],
      [min("price"), "Min('price')"],
      [max("published"), "Max('published')"],
      [min("title"), "Min('title')"],
      [stddev("stock"), "StdDev('stock', sample=True)"],
      [variance("stock"), "Variance('stock', sample=True)"],
      [boolAnd("active"), "BoolAnd('active')"],
      [boolOr("active"), "BoolOr('active')"],
      [arrayAgg("stock", { orderBy: ["id"] }), "ArrayAgg('stock', ordering='id')"],
      [
        arrayAgg("status", { distinct: true, orderBy: ["status"] }),
        "ArrayAgg('status', distinct=True, ordering='status')",
      ],
      [stringAgg("status", ",", { orderBy: ["id"] }), "StringAgg('status', ',', ordering='id')"],
      [count("id").filter({ active: true }), "Count('id', filter=Q(active=True))"],
      [
        sum("stock").filter(Q({ year__gt: 2000 }).or({ year: null })),
        "Sum('stock', filter=Q(year__gt=2000) | Q(year=None))",
      ],
      [sum(F("stock").times(2)), "Sum(F('stock') * 2)"],
      [stddev("stock", { population: true }), "StdDev('stock')"],
      [variance("stock", { population: true }), "Variance('stock')"],
      [corr("stock", "rating"), "Corr('stock', 'rating')"],
      [regrSlope("stock", "rating"), "RegrSlope('stock', 'rating')"],
      [regrIntercept("stock", "rating"), "RegrIntercept('stock', 'rating')"],
      [max("author__name"), "Max('author__name')"],
      [count("author", { distinct: true }), "Count('author', distinct=True)"],
    ] as const
  ).flatMap(([ours, django]): Pair[] => [
    // biome-ignore lint/suspicious/noExplicitAny: expressions of all types.
    [() => Book.objects.aggregate({ x: ours as any }), `Book.objects.aggregate(x=${django})`],
    [
      // biome-ignore lint/suspicious/noExplicitAny: expressions of all types.
      () => Book.objects.filter({ stock__gt: 2 }).aggregate({ x: ours as any }),
      `Book.objects.filter(stock__gt=2).aggregate(x=${django})`,
    ],
    [
      // biome-ignore lint/suspicious/noExplicitAny: expressions of all types.
      () => Book.objects.filter({ stock: 99 }).aggregate({ x: ours as any }),
      `Book.objects.filter(stock=99).aggregate(x=${django})`,
    ],
    [
      () =>
        Book.objects
          .values("status")
          // biome-ignore lint/suspicious/noExplicitAny: expressions of all types.
          .annotate({ x: ours as any })
          .orderBy("status"),
      `Book.objects.values('status').annotate(x=${django}).order_by('status')`,
    ],
  ]),
  // Related values
  [
    () => Book.objects.values("id", "tags__name").orderBy("id", "tags__name"),
    "Book.objects.values('id', 'tags__name').order_by('id', 'tags__name')",
  ],
  [
    () => Book.objects.valuesList("id", "reviews__stars", "reviews").orderBy("id", "reviews"),
    "Book.objects.values_list('id', 'reviews__stars', 'reviews').order_by('id', 'reviews')",
  ],
  [
    () => Author.objects.valuesList("id", "books__tags__name").distinct().orderBy("id", "books__tags__name"),
    "Author.objects.values_list('id', 'books__tags__name').distinct().order_by('id', 'books__tags__name')",
  ],
  [
    () =>
      Country.objects.valuesList("authors__books", "authors__books__author__country__code").orderBy("authors__books"),
    "Country.objects.values_list('authors__books', 'authors__books__author__country__code').order_by('authors__books')",
  ],
  [() => Book.objects.values("id", "tags__name").count(), "Book.objects.values('id', 'tags__name').count()"],
  [
    () => Book.objects.filter({ stock__gt: 2 }).values("tags__name").distinct().orderBy("tags__name"),
    "Book.objects.filter(stock__gt=2).values('tags__name').distinct().order_by('tags__name')",
  ],
  [
    () =>
      Book.objects
        .values("tags__name")
        .annotate({ n: count(), total: sum("stock"), last: max("year") })
        .orderBy("tags__name"),
    "Book.objects.values('tags__name').annotate(n=Count('*'), total=Sum('stock'), last=Max('year')).order_by('tags__name')",
  ],
  [
    () =>
      Author.objects
        .values("books__tags__name")
        .annotate({ n: count() })
        .filter({ n__gt: 3 })
        .orderBy("-n", "books__tags__name"),
    "Author.objects.values('books__tags__name').annotate(n=Count('*')).filter(n__gt=3).order_by('-n', 'books__tags__name')",
  ],
  [
    () =>
      Book.objects
        .values("status", "reviews__stars")
        .annotate({ n: count("id") })
        .orderBy("status", "reviews__stars"),
    "Book.objects.values('status', 'reviews__stars').annotate(n=Count('id')).order_by('status', 'reviews__stars')",
  ],
  // Time zones
  ...(["Europe/Berlin", "America/New_York", "Pacific/Auckland"] as const).flatMap((zone): Pair[] => [
    [
      () => books.inTimeZone(zone).filter({ published__year: 2001 }),
      `in_zone('${zone}', lambda: Book.objects.filter(published__year=2001).order_by('id'))`,
    ],
    [
      () => books.inTimeZone(zone).filter({ published__hour__lt: 8, published__day__gt: 10 }),
      `in_zone('${zone}', lambda: Book.objects.filter(published__hour__lt=8, published__day__gt=10).order_by('id'))`,
    ],
    [
      () => books.inTimeZone(zone).valuesList("published__month", "published__day", "published__hour"),
      `in_zone('${zone}', lambda: Book.objects.order_by('id').values_list('published__month', 'published__day', 'published__hour'))`,
    ],
    [
      () => books.inTimeZone(zone).filter({ published__date__lte: "2002-06-01" }),
      `in_zone('${zone}', lambda: Book.objects.filter(published__date__lte='2002-06-01').order_by('id'))`,
    ],
  ]),
  // Chosen fields of related rows
  [
    async () => {
      const rows = await books.selectRelated("author__country").only("title", "author__name", "author__country__code");
      return rows.map((row) => [row.title, row.author.name, row.author.country?.code ?? null]);
    },
    "[[b.title, b.author.name, b.author.country and b.author.country.code] for b in Book.objects.select_related('author__country').only('title', 'author__name', 'author__country__code').order_by('id')]",
  ],
  // Groups
  [
    () => Book.objects.values("status").annotate({ n: count() }).filter({ n__gt: 18 }).orderBy("status"),
    "Book.objects.values('status').annotate(n=Count('*')).filter(n__gt=18).order_by('status')",
  ],
  [
    () =>
      Book.objects
        .filter({ stock__gt: 1 })
        .values("author__name")
        .annotate({ n: count() })
        .orderBy("-n", "author__name"),
    "Book.objects.filter(stock__gt=1).values('author__name').annotate(n=Count('*')).order_by('-n', 'author__name')",
  ],
  [
    () =>
      Book.objects
        .values("status", "active")
        .annotate({ n: count(), total: sum("stock") })
        .orderBy("status", "active"),
    "Book.objects.values('status', 'active').annotate(n=Count('*'), total=Sum('stock')).order_by('status', 'active')",
  ],
  [
    () =>
      Book.objects
        .annotate({ m: truncate("month", "published") })
        .values("m")
        .annotate({ n: count() })
        .orderBy("m"),
    "Book.objects.annotate(m=TruncMonth('published')).values('m').annotate(n=Count('*')).order_by('m')",
  ],
  [
    () => Book.objects.values("published__year").annotate({ n: count() }).orderBy("published__year"),
    "Book.objects.values('published__year').annotate(n=Count('*')).order_by('published__year')",
  ],
  [
    () =>
      Country.objects
        .values("code")
        .annotate({ n: count("authors") })
        .orderBy("code"),
    "Country.objects.values('code').annotate(n=Count('authors')).order_by('code')",
  ],
  [
    () =>
      Tag.objects
        .annotate({ n: count("books") })
        .orderBy("-n", "id")
        .valuesList("name", "n"),
    "Tag.objects.annotate(n=Count('books')).order_by('-n', 'id').values_list('name', 'n')",
  ],
  [
    () =>
      Author.objects
        .annotate({ n: count("books") })
        .filter({ n__gte: 5 })
        .orderBy("id"),
    "Author.objects.annotate(n=Count('books')).filter(n__gte=5).order_by('id')",
  ],
  [
    () => Author.objects.annotate({ n: count("books") }).aggregate({ most: max("n"), mean: avg("n"), all: sum("n") }),
    "Author.objects.annotate(n=Count('books')).aggregate(most=Max('n'), mean=Avg('n'), all=Sum('n'))",
  ],
  [
    () =>
      Book.objects
        .values("author")
        .annotate({ n: count() })
        .aggregate({ most: max("n") }),
    "Book.objects.values('author').annotate(n=Count('*')).aggregate(most=Max('n'))",
  ],
  [() => books.limit(10).aggregate({ s: sum("stock") }), "Book.objects.order_by('id')[:10].aggregate(s=Sum('stock'))"],
  [
    () =>
      Book.objects
        .annotate({ r: rowNumber().over({ partitionBy: ["author"], orderBy: ["-year", "id"] }) })
        .filter({ r: 1 })
        .orderBy("id"),
    "Book.objects.annotate(r=Window(RowNumber(), partition_by='author', order_by=['-year', 'id'])).filter(r=1).order_by('id')",
  ],
  [
    () =>
      Book.objects
        .annotate({ r: rank().over({ orderBy: ["-stock"] }) })
        .filter({ r__lte: 3, active: true })
        .orderBy("id")
        .valuesList("id", "r"),
    "Book.objects.annotate(r=Window(Rank(), order_by='-stock')).filter(r__lte=3, active=True).order_by('id').values_list('id', 'r')",
  ],
  [
    () =>
      Book.objects
        .annotate({ r: rank().over({ orderBy: ["-stock"] }) })
        .exclude({ r: 1 })
        .count(),
    "Book.objects.annotate(r=Window(Rank(), order_by='-stock')).exclude(r=1).count()",
  ],
  // Sets
  [
    () =>
      Book.objects
        .filter({ stock: 1 })
        .union(Book.objects.filter({ active: true }))
        .orderBy("id"),
    "Book.objects.filter(stock=1).union(Book.objects.filter(active=True)).order_by('id')",
  ],
  [
    () =>
      Book.objects
        .filter({ stock: 1 })
        .intersection(Book.objects.filter({ active: true }))
        .orderBy("id"),
    "Book.objects.filter(stock=1).intersection(Book.objects.filter(active=True)).order_by('id')",
  ],
  [
    () =>
      Book.objects
        .filter({ stock: 1 })
        .difference(Book.objects.filter({ active: true }))
        .orderBy("id"),
    "Book.objects.filter(stock=1).difference(Book.objects.filter(active=True)).order_by('id')",
  ],
  [
    () =>
      Book.objects
        .filter({ stock: 1 })
        .values("status")
        .unionAll(Book.objects.filter({ stock: 2 }).values("status"))
        .count(),
    "Book.objects.filter(stock=1).values('status').union(Book.objects.filter(stock=2).values('status'), all=True).count()",
  ],
  // Relations of a row
  [
    async () => (await Author.objects.get({ id: 2 })).books.orderBy("id"),
    "Author.objects.get(id=2).books.order_by('id')",
  ],
  [async () => (await Book.objects.get({ id: 3 })).tags.orderBy("id"), "Book.objects.get(id=3).tags.order_by('id')"],
  [
    async () => (await Tag.objects.get({ id: 1 })).books.filter({ stock: 1 }).count(),
    "Tag.objects.get(id=1).books.filter(stock=1).count()",
  ],
  [
    async () => (await Author.objects.get({ id: 1 })).pupils.orderBy("id"),
    "Author.objects.get(id=1).pupils.order_by('id')",
  ],
  [
    async () => (await Author.objects.prefetchRelated("books").orderBy("id")).map((author) => author.books.length),
    "[len(author.books.all()) for author in Author.objects.prefetch_related('books').order_by('id')]",
  ],
  [
    async () => (await books.selectRelated("author__country")).map((book) => book.author.country?.code ?? null),
    "[book.author.country and book.author.country.code for book in Book.objects.select_related('author__country').order_by('id')]",
  ],
  [
    () => books.annotate({ n: raw<number>(sql`length(title)`) }).flat("n"),
    "Book.objects.annotate(n=Length('title')).order_by('id').values_list('n', flat=True)",
  ],
];

/** Each lookup of each column, in `filter` and in `exclude`. */
export function lookupPairs(): Pair[] {
  const cases: [key: string, value: unknown][] = [
    ...["", "__gt", "__gte", "__lt", "__lte"].flatMap((lookup): [string, unknown][] => [
      [`year${lookup}`, 2000],
      [`price${lookup}`, "12.50"],
      [`rating${lookup}`, 2.5],
      [`title${lookup}`, "Lavinia"],
      [`author__born${lookup}`, "1960-06-15"],
      [`published${lookup}`, "2002-06-15T12:00:00Z"],
      [`author__mentor__id${lookup}`, 3],
    ]),
    ...["iexact", "contains", "icontains", "startswith", "istartswith", "endswith", "iendswith"].flatMap(
      (lookup): [string, unknown][] => [
        [`title__${lookup}`, "dune"],
        [`title__${lookup}`, "%"],
        [`title__${lookup}`, "_"],
        [`title__${lookup}`, "\\"],
        [`title__${lookup}`, ""],
        [`author__email__${lookup}`, "a1"],
      ],
    ),
    ...["year", "title", "author__country__code", "author__email", "published", "data"].flatMap(
      (name): [string, unknown][] => [
        [`${name}__isnull`, true],
        [`${name}__isnull`, false],
      ],
    ),
    ["year__in", [1999, 2001]],
    ["year__in", []],
    ["title__in", ["Dune", ""]],
    ["year__range", [1995, 2003]],
    ["title__regex", "^[A-M]"],
    ["title__iregex", "^d.*e"],
    ["keywords__contains", ["sea", "war"]],
    ["keywords__overlap", ["sea", "magic"]],
    ["keywords__len", 2],
    ["data__color", "red"],
    ["data__size__gte", 2],
    ["data__contains", { color: "blue" }],
    ["tags__name__in", ["sf", "draft"]],
    ["reviews__stars__gt", 3],
    ["author__books__title", "Dune"],
  ];
  return cases.flatMap(([key, given]): Pair[] => {
    const python = `json.loads(${JSON.stringify(JSON.stringify(given))})`;
    // biome-ignore lint/suspicious/noExplicitAny: the keys are not known to the compiler.
    const where = { [key]: given } as any;
    return [
      [() => books.filter(where), `Book.objects.filter(${key}=${python}).distinct().order_by('id')`],
      [() => books.exclude(where), `Book.objects.exclude(${key}=${python}).order_by('id')`],
    ];
  });
}
