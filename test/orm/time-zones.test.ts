import { beforeAll, expect, it } from "vitest";
import { count, extract, FieldError, field, type Manager, Model, truncate } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases } from "./databases.js";

class Visit extends Model("visits", {
  id: field.auto(),
  at: field.datetime(),
  local: field.datetime({ timezone: false }),
  day: field.date(),
  get site() {
    return field.foreignKey(() => Site, { null: true });
  },
}) {
  declare static objects: Manager<Visit>;
}

class Site extends Model("sites", {
  id: field.auto(),
  opened: field.datetime(),
  get visits() {
    return field.reverse(() => Visit, "site");
  },
}) {
  declare static objects: Manager<Site>;
}

const berlin = "Europe/Berlin";
/** In Berlin: New Year's Eve is over an hour earlier, and the clocks change on 31 March 2024. */
const moments = ["2023-12-31T22:30:00Z", "2023-12-31T23:30:00Z", "2024-03-30T23:30:00Z", "2024-03-31T22:30:00Z"];

describeDatabases("time zones", service("postgres"), [Site, Visit], () => {
  beforeAll(async () => {
    const site = await Site.objects.create({ opened: "2023-12-31T23:30:00Z" });
    await Visit.objects.bulkCreate(moments.map((at) => ({ at, local: at.slice(0, 19), day: at.slice(0, 10), site })));
  });

  it("truncate() returns the start of a day in a time zone, also where the clocks change", async () => {
    const days = await Visit.objects
      .orderBy("id")
      .annotate({ d: truncate("day", "at", { timeZone: berlin }) })
      .flat("d");
    expect(days).toEqual(
      ["2023-12-30T23:00:00Z", "2023-12-31T23:00:00Z", "2024-03-30T23:00:00Z", "2024-03-31T22:00:00Z"].map(
        (text) => new Date(text),
      ),
    );
    expect(
      await Visit.objects
        .orderBy("id")
        .annotate({ d: truncate("year", "at") })
        .flat("d"),
    ).toEqual(["2023-01-01", "2023-01-01", "2024-01-01", "2024-01-01"].map((text) => new Date(text)));
  });

  it("extract() returns parts of a time in a time zone", async () => {
    const years = Visit.objects
      .orderBy("id")
      .annotate({ y: extract("year", "at", { timeZone: berlin }), h: extract("hour", "at", { timeZone: berlin }) });
    expect(await years.valuesList("y", "h")).toEqual([
      [2023, 23],
      [2024, 0],
      [2024, 0],
      [2024, 0],
    ]);
  });

  it("inTimeZone() sets the time zone of lookups, values, orders and groups", async () => {
    const visits = Visit.objects.inTimeZone(berlin);
    expect(await visits.filter({ at__year: 2024 }).count()).toBe(3);
    expect(await Visit.objects.filter({ at__year: 2024 }).count()).toBe(2);
    expect(await visits.filter({ at__date: "2024-04-01" }).flat("id")).toEqual([4]);
    expect(await visits.filter({ at__time__lt: "01:00" }).orderBy("id").flat("id")).toEqual([2, 3, 4]);
    expect(await visits.orderBy("id").flat("at__date")).toEqual([
      "2023-12-31",
      "2024-01-01",
      "2024-03-31",
      "2024-04-01",
    ]);
    expect(await visits.values("at__month").annotate({ n: count() }).orderBy("at__month")).toEqual([
      { at__month: 1, n: 1 },
      { at__month: 3, n: 1 },
      { at__month: 4, n: 1 },
      { at__month: 12, n: 1 },
    ]);
    const months = visits.annotate({ m: truncate("month", "at") });
    expect(await months.filter({ m__month: 4 }).flat("m")).toEqual([new Date("2024-03-31T22:00:00Z")]);
    expect((await visits.orderBy("id").values("at__day").json()).value()).toEqual(
      [31, 1, 31, 1].map((at__day) => ({ at__day })),
    );
  });

  it("The time zone of a query applies to related rows, and one of a function comes first", async () => {
    expect(await Visit.objects.inTimeZone(berlin).filter({ site__opened__year: 2024 }).count()).toBe(4);
    expect(await Site.objects.inTimeZone(berlin).filter({ visits__at__date: "2024-04-01" }).count()).toBe(1);
    expect(await Site.objects.filter({ visits__at__date: "2024-04-01" }).count()).toBe(0);
    const late = count("visits").filter({ at__date__gte: "2024-04-01" });
    expect(await Site.objects.inTimeZone(berlin).annotate({ late }).flat("late")).toEqual([1]);
    const years = Visit.objects
      .inTimeZone(berlin)
      .annotate({ y: extract("year", "at", { timeZone: "America/New_York" }) });
    expect(await years.orderBy("id").flat("y")).toEqual([2023, 2023, 2024, 2024]);
  });

  it("Dates and times without time zone are not converted", async () => {
    const visits = Visit.objects.inTimeZone(berlin).orderBy("id");
    expect(await visits.flat("local__hour")).toEqual([22, 23, 23, 22]);
    expect(await visits.filter({ day__day: 31 }).count()).toBe(3);
    expect(
      await visits
        .annotate({ d: truncate("day", "local") })
        .flat("d")
        .first(),
    ).toEqual(new Date("2023-12-31"));
    expect(() => visits.annotate({ d: truncate("day", "day", { timeZone: berlin }) }).toSql()).toThrow(FieldError);
    expect(() => visits.annotate({ d: extract("day", "local", { timeZone: berlin }) }).toSql()).toThrow(
      /without time zone/,
    );
  });

  it("A name that is no time zone is refused when the query is built", () => {
    for (const wrong of [
      "Europe/Nowhere",
      "",
      "+01:00",
      "UTC'",
      "x'; drop table visits; --",
      "UTC\n",
      "a".repeat(1000),
      1,
      null,
    ]) {
      expect(() => Visit.objects.inTimeZone(wrong as string)).toThrow(/is not the name of a time zone/);
      // Null is an option that is not given.
      if (wrong === null) continue;
      const timeZone = wrong as string;
      expect(() => truncate("day", "at", { timeZone })).toThrow(/in truncate\(\) must be the name of a time zone/);
      expect(() => extract("day", "at", { timeZone })).toThrow(/in extract\(\) must be the name of a time zone/);
    }
  });

  it.each(["UTC", "Asia/Kolkata", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"])(
    "The time zone %s has the same name in PostgreSQL and here",
    async (zone) => {
      expect(await Visit.objects.inTimeZone(zone).filter({ at__year__gte: 2023 }).count()).toBe(4);
    },
  );
});
