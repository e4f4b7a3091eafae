"""Tables of six kinds with drifting workloads: recent days are queried more often than old ones.

`lineitem` and `orders` are from TPC-H. `store_sales` and `web_sales` imitate TPC-DS, whose generator is a DuckDB
extension that is not always installed: they have the same columns with skewed items and customers, seasonal dates, and
prices that depend on each other. `flights` and `events` imitate the public data sets with these names.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Random = np.random.Generator

ROWS = 200_000
WORKLOADS = 5
DIRECTORY = Path(".bench") / "advisor"
_FEWEST, _MOST = 10, 60


class Kind(NamedTuple):
    """A table, its date column, and templates that draw predicates for a point in time.

    A point in time is a fraction of the period that the table spans. `rows`: creates the table. The TPC-H tables have
    the rows of their generator; the others take a row count.
    """

    rows: Callable[..., pa.Table]
    date: str
    predicates: Sequence[Callable[[Random, float], str]]


def workload(kind: Kind, number: int) -> list[str]:
    """Draw a workload from weighted templates; about half become rarer over time, the others more frequent."""
    draw = np.random.default_rng([number, len(kind.predicates)])
    weights, drift = draw.dirichlet(np.full(len(kind.predicates), 0.5)), draw.normal(0, 1.5, len(kind.predicates))
    count = int(draw.integers(_FEWEST, _MOST + 1))
    found = []
    for time in np.linspace(0.0, 1.0, count):
        now = weights * np.exp(drift * time)
        template = kind.predicates[draw.choice(len(now), p=now / now.sum())]
        found.append(template(draw, float(np.clip(0.6 * time + draw.normal(0.2, 0.1), 0.0, 0.98))))
    return found


def _day(first: dt.date, days: int, share: float) -> str:
    return f"DATE '{first + dt.timedelta(int(days * share))}'"


def _dates(column: str, first: dt.date, days: int, length: int) -> Callable[[Random, float], str]:
    def between(_: Random, now: float) -> str:
        return f"{column} BETWEEN {_day(first, days, now)} AND {_day(first, days, now + length / days)}"

    return between


def _one(column: str, values: int, *, skew: float = 1.0) -> Callable[[Random, float], str]:
    return lambda draw, _: f"{column} = {int(values * draw.random() ** skew)}"


def _order(column: str, orders: int) -> Callable[[Random, float], str]:
    """Look up an existing order: TPC-H uses eight of every 32 order numbers."""

    def one(draw: Random, _: float) -> str:
        number = int(draw.integers(orders))
        return f"{column} = {number // 8 * 32 + number % 8 + 1}"

    return one


def _text(column: str, values: Sequence[str]) -> Callable[[Random, float], str]:
    return lambda draw, _: f"{column} = '{values[draw.integers(len(values))]}'"


def _both(*parts: Callable[[Random, float], str]) -> Callable[[Random, float], str]:
    return lambda draw, now: " AND ".join(part(draw, now) for part in parts)


def _below(column: str, low: float, high: float) -> Callable[[Random, float], str]:
    return lambda draw, _: f"{column} < {draw.uniform(low, high):.2f}"


def _above(column: str, low: float, high: float) -> Callable[[Random, float], str]:
    return lambda draw, _: f"{column} > {draw.uniform(low, high):.2f}"


def tpch(name: str, scale: str, most: int | None = ROWS) -> pa.Table:
    """Return the first `most` rows of a TPC-H table; all rows if None."""
    raw = DIRECTORY / f"raw-{name}-{scale}"
    if not (raw / f"{name}.parquet").is_file():
        program = Path(sys.executable).with_name("tpchgen-cli")
        command = [program, "parquet", "-s", scale, f"--tables={name}", f"--output-dir={raw}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    table = pq.read_table(raw / f"{name}.parquet")
    texts = [field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field for field in table.schema]
    return table.cast(pa.schema(texts)).slice(0, most)


_TPCH_DAY, _TPCH_DAYS = dt.date(1992, 1, 2), 2_500
_MODES = ["AIR", "MAIL", "SHIP", "RAIL", "TRUCK", "FOB", "REG AIR"]
_SHIPPED = _dates("l_shipdate", _TPCH_DAY, _TPCH_DAYS, 30)
_LINEITEM = [
    _SHIPPED,
    _dates("l_shipdate", _TPCH_DAY, _TPCH_DAYS, 365),
    _dates("l_receiptdate", _TPCH_DAY, _TPCH_DAYS, 7),
    _dates("l_commitdate", _TPCH_DAY, _TPCH_DAYS, 1),
    _one("l_partkey", 10_000),
    _one("l_suppkey", 500),
    _order("l_orderkey", ROWS // 4),
    _both(_text("l_shipmode", _MODES), _SHIPPED),
    _both(_one("l_suppkey", 500), _dates("l_shipdate", _TPCH_DAY, _TPCH_DAYS, 365)),
    _both(_below("l_quantity", 5, 24), _SHIPPED),
    _text("l_returnflag", ["R", "A", "N"]),
    _above("l_extendedprice", 50_000, 54_000),
]
_ORDERED = _dates("o_orderdate", _TPCH_DAY, 2_400, 14)
_ORDERS = [
    _ORDERED,
    _dates("o_orderdate", _TPCH_DAY, 2_400, 90),
    _one("o_custkey", 30_000),
    _order("o_orderkey", ROWS),
    _both(_text("o_orderpriority", ["1-URGENT", "2-HIGH", "5-LOW"]), _ORDERED),
    _text("o_orderstatus", ["P", "F", "O"]),
    _above("o_totalprice", 350_000, 450_000),
    _both(_one("o_custkey", 30_000), _dates("o_orderdate", _TPCH_DAY, 2_400, 365)),
    lambda draw, _: f"o_clerk = 'Clerk#{int(draw.integers(1, 200)):09}'",
]


def _sales(seed: int, prefix: str, channels: int, rows: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    season = 1 + 0.8 * np.cos(np.arange(1_826) / 365 * 2 * np.pi)
    day = np.sort(draw.choice(1_826, rows, p=season / season.sum()))
    item = (18_000 * draw.random(rows) ** 2.5).astype(np.int64)
    customer = (100_000 * draw.random(rows) ** 1.5).astype(np.int64)
    wholesale = np.round(1 + 99 * ((item * 7919) % 18_000) / 18_000 * draw.uniform(0.9, 1.1, rows), 2)
    quantity = draw.integers(1, 101, rows)
    price = np.round(wholesale * draw.uniform(1.0, 2.0, rows), 2)
    # Sales are loaded some days late, so that the table is only nearly sorted by day.
    late = np.argsort(day + draw.exponential(3.0, rows), kind="stable")
    columns = {
        "sold_date": (10_000 + day).astype(np.int32),
        "item": item,
        "customer": customer,
        "channel": draw.zipf(1.6, rows) % channels,
        "promo": np.where(draw.random(rows) < 0.6, 0, draw.integers(1, 300, rows)),
        "quantity": quantity,
        "wholesale": wholesale,
        "price": price,
        "profit": np.round(quantity * (price - wholesale), 2),
        "ticket": np.arange(rows) // 4,
    }
    table = pa.table({f"{prefix}_{name}": values for name, values in columns.items()})
    days = table[f"{prefix}_sold_date"].cast(pa.date32())
    return table.set_column(0, f"{prefix}_sold_date", days).take(pa.array(late))


def _sales_predicates(prefix: str, channels: int) -> list[Callable[[Random, float], str]]:
    first, days = dt.date(1970, 1, 1) + dt.timedelta(10_000), 1_826
    sold = _dates(f"{prefix}_sold_date", first, days, 30)
    return [
        sold,
        _dates(f"{prefix}_sold_date", first, days, 3),
        _one(f"{prefix}_item", 18_000, skew=2.5),
        _one(f"{prefix}_customer", 100_000, skew=1.5),
        _one(f"{prefix}_promo", 300),
        _both(_one(f"{prefix}_channel", channels), sold),
        _above(f"{prefix}_profit", 5_000, 9_000),
        _both(_one(f"{prefix}_item", 18_000, skew=2.5), _dates(f"{prefix}_sold_date", first, days, 180)),
        _both(_below(f"{prefix}_wholesale", 5, 20), _above(f"{prefix}_quantity", 80, 95)),
    ]


_AIRPORTS = [f"{a}{b}{c}" for a in "ABCDEF" for b in "KLMNO" for c in "TUVWXYZQRS"]
_CARRIERS = ["AA", "DL", "UA", "WN", "B6", "AS", "NK", "F9", "HA", "OO"]


def _flights(rows: int = ROWS) -> pa.Table:
    draw = np.random.default_rng(11)
    day = np.sort(draw.integers(0, 365, rows)).astype(np.int32)
    origin = (300 * draw.random(rows) ** 3).astype(np.int64)
    carrier = (origin * 3 + (10 * draw.random(rows) ** 2).astype(np.int64)) % 10
    distance = np.abs(origin - (300 * draw.random(rows) ** 3).astype(np.int64)) * 9 + 90
    hour = np.clip(draw.normal(13, 5, rows), 0, 23.9)
    delay = np.round(draw.exponential(15, rows) * (0.3 + hour / 12) - 8)
    return pa.table(
        {
            "day": pa.array(day + 19_000).cast(pa.date32()),
            "carrier": np.array(_CARRIERS, object)[carrier],
            "origin": np.array(_AIRPORTS, object)[origin],
            "tail": (origin * 20 + draw.integers(0, 40, rows)) % 6_000,
            "departs": np.round(hour * 60).astype(np.int64),
            "delay": delay,
            "distance": distance,
            "cancelled": draw.random(rows) < 0.01 + 0.05 * (day % 365 < 40),
        }
    )


_FLIGHT_DAY = dt.date(1970, 1, 1) + dt.timedelta(19_000)
_FLOWN = _dates("day", _FLIGHT_DAY, 365, 7)
_FLIGHT_PREDICATES = [
    _FLOWN,
    _text("origin", _AIRPORTS[:60]),
    _both(_text("carrier", _CARRIERS), _FLOWN),
    _one("tail", 6_000),
    _above("delay", 60, 200),
    _both(_text("origin", _AIRPORTS[:30]), _above("delay", 30, 60)),
    lambda *_: "cancelled",
    _above("distance", 2_000, 2_600),
    _both(_text("carrier", _CARRIERS), _text("origin", _AIRPORTS[:60])),
]

_EVENT_KINDS = ["PushEvent", "CreateEvent", "WatchEvent", "PullRequestEvent", "IssuesEvent", "ForkEvent", "GollumEvent"]


def _events() -> pa.Table:
    draw = np.random.default_rng(12)
    second = np.sort(draw.integers(0, 30 * 86_400, ROWS))
    repo = np.minimum(draw.zipf(1.4, ROWS), 80_000)
    kind = np.searchsorted(np.cumsum([0.5, 0.18, 0.12, 0.09, 0.06, 0.04]), draw.random(ROWS))
    return pa.table(
        {
            "id": 40_000_000_000 + np.cumsum(draw.integers(1, 30, ROWS)),
            "at": pa.array((second + 1_700_000_000) * 1_000_000).cast(pa.timestamp("us")),
            "date": pa.array(((second + 1_700_000_000) // 86_400).astype(np.int32)).cast(pa.date32()),
            "kind": np.array(_EVENT_KINDS, object)[kind],
            "repo": repo * 7_919 % 1_000_003,
            "actor": (np.minimum(draw.zipf(1.5, ROWS), 60_000) * 104_729 + repo % 3) % 1_000_003,
            "payload": draw.exponential(900, ROWS).astype(np.int64),
        }
    )


_EVENT_DAY = dt.date(1970, 1, 1) + dt.timedelta(1_700_000_000 // 86_400)
_HAPPENED = _dates("date", _EVENT_DAY, 30, 1)
_EVENT_PREDICATES = [
    _HAPPENED,
    _text("kind", _EVENT_KINDS),
    _both(_text("kind", _EVENT_KINDS), _HAPPENED),
    lambda draw, _: f"repo = {min(draw.zipf(1.2), 80_000) * 7_919 % 1_000_003}",
    lambda draw, _: f"actor = {min(draw.zipf(1.2), 60_000) * 104_729 % 1_000_003}",
    _above("payload", 5_000, 8_000),
    _both(lambda draw, _: f"repo = {min(draw.zipf(1.2), 80_000) * 7_919 % 1_000_003}", _text("kind", _EVENT_KINDS)),
    lambda draw, _: f"id BETWEEN {(low := 40_000_000_000 + int(draw.integers(0, 15 * ROWS)))} AND {low + 20_000}",
]

KINDS = {
    "lineitem": Kind(lambda: tpch("lineitem", "0.05"), "l_shipdate", _LINEITEM),
    "orders": Kind(lambda: tpch("orders", "0.2"), "o_orderdate", _ORDERS),
    "store_sales": Kind(lambda rows=ROWS: _sales(9, "ss", 12, rows), "ss_sold_date", _sales_predicates("ss", 12)),
    "web_sales": Kind(lambda rows=ROWS: _sales(10, "ws", 30, rows), "ws_sold_date", _sales_predicates("ws", 30)),
    "flights": Kind(_flights, "day", _FLIGHT_PREDICATES),
    "events": Kind(_events, "date", _EVENT_PREDICATES),
}
