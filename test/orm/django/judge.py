"""Runs queries with Django. Reads {"database": {...}, "pairs": [text], "trees": [tree]} and writes the results as JSON."""

import datetime
import decimal
import json
import sys
import tempfile
import types
import zoneinfo

import django
from django.conf import settings

given = json.load(sys.stdin)

# An application without files: relations are found from both sides only between models of an installed application.
shop = types.ModuleType("shop")
shop.__path__ = [tempfile.gettempdir()]
sys.modules["shop"] = shop
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **given["database"]}},
    INSTALLED_APPS=["django.contrib.postgres", "shop"],
    USE_TZ=True,
    TIME_ZONE="UTC",
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()

from django.contrib.postgres.aggregates import (  # noqa: E402
    ArrayAgg, BoolAnd, BoolOr, Corr, RegrIntercept, RegrSlope, StringAgg,
)
from django.contrib.postgres.fields import ArrayField  # noqa: E402
from django.db import models  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.db.models import (  # noqa: E402, F401
    Avg, Case, Count, Exists, F, Max, Min, OuterRef, Q, StdDev, Subquery, Sum, Value, Variance, When, Window,
)
from django.db.models.functions import (  # noqa: E402, F401
    Abs, Cast, Ceil, Coalesce, Concat, DenseRank, ExtractHour, ExtractMonth, ExtractYear, FirstValue, Floor, Greatest, Lag, Lead,
    Least, Length, Lower, NullIf, Rank, Replace, Round, RowNumber, Substr, Trim, TruncDay, TruncMonth, TruncYear, Upper,
)


class Country(models.Model):
    code = models.CharField(max_length=2)
    name = models.CharField(max_length=80)

    class Meta:
        app_label, db_table, managed = "shop", "dj_countries", False


class Author(models.Model):
    name = models.CharField(max_length=100)
    email = models.TextField(null=True)
    born = models.DateField(null=True)
    country = models.ForeignKey(Country, models.CASCADE, null=True, related_name="authors")
    mentor = models.ForeignKey("self", models.CASCADE, null=True, related_name="pupils")

    class Meta:
        app_label, db_table, managed = "shop", "dj_authors", False


class Tag(models.Model):
    name = models.CharField(max_length=40)

    class Meta:
        app_label, db_table, managed = "shop", "dj_tags", False


class Book(models.Model):
    title = models.CharField(max_length=200)
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    year = models.IntegerField(null=True)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    stock = models.IntegerField()
    rating = models.FloatField(null=True)
    status = models.CharField(max_length=20)
    active = models.BooleanField()
    published = models.DateTimeField(null=True)
    keywords = ArrayField(models.TextField())
    data = models.JSONField(null=True)
    tags = models.ManyToManyField(Tag, through="BookTag", related_name="books")

    class Meta:
        app_label, db_table, managed = "shop", "dj_books", False


class BookTag(models.Model):
    pk = models.CompositePrimaryKey("book_id", "tag_id")
    book = models.ForeignKey(Book, models.CASCADE, related_name="+", db_column="dj_book_id")
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_column="dj_tag_id")

    class Meta:
        app_label, db_table, managed = "shop", given["joinTable"], False


class Review(models.Model):
    book = models.ForeignKey(Book, models.CASCADE, related_name="reviews")
    stars = models.IntegerField()
    text = models.TextField(null=True)

    class Meta:
        app_label, db_table, managed = "shop", "dj_reviews", False


def plain(value):
    if isinstance(value, models.Model):
        return value.pk
    if isinstance(value, (models.QuerySet, list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (value.microsecond // 1000)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value


def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def condition(tree):
    if "and" in tree:
        made = Q()
        for child in tree["and"]:
            made &= condition(child)
        return made
    if "or" in tree:
        made = condition(tree["or"][0])
        for child in tree["or"][1:]:
            made |= condition(child)
        return made
    if "not" in tree:
        return ~condition(tree["not"])
    return Q(**{tree["key"]: tree["value"]})


def result(run):
    try:
        return {"value": plain(run())}
    except Exception as error:  # noqa: BLE001: the error is the result
        return {"error": f"{type(error).__name__}: {error}"}


def in_zone(name, run):
    with timezone.override(zoneinfo.ZoneInfo(name)):
        return list(run())


names = dict(globals())
json.dump(
    {
        "pairs": [result(lambda: eval(text, names)) for text in given["pairs"]],  # noqa: B023, S307
        "trees": [
            result(lambda: Book.objects.filter(condition(tree)).distinct().order_by("id").values_list("id", flat=True))
            for tree in given["trees"]
        ],
    },
    sys.stdout,
)
