"""Twelve tables modelled on public data sets, with random predicates for each; input of `advisor_holds.py`."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Random = np.random.Generator

# Row count of most tables.
ROWS = 1_000_000
_FIRST = dt.date(2024, 1, 1)


class Shape(NamedTuple):
    """A table and the templates of its predicates; each workload draws its own weights.

    `predicates`: functions that draw a predicate with a random number generator.
    """

    rows: Callable[[Random, int], pa.Table]
    predicates: Sequence[Callable[[Random], str]]
    workloads: int = 4


def _date(days: NDArray[Any]) -> pa.Array:
    return pa.array((days + (_FIRST - dt.date(1970, 1, 1)).days).astype(np.int32)).cast(pa.date32())


def _times(seconds: NDArray[Any]) -> pa.Array:
    base = int(dt.datetime(2024, 1, 1, tzinfo=dt.UTC).timestamp())
    return pa.array(((seconds + base) * 1_000_000).astype(np.int64)).cast(pa.timestamp("us"))


def _day(days: float) -> str:
    return f"DATE '{_FIRST + dt.timedelta(int(days))}'"


def _time(seconds: float) -> str:
    return f"TIMESTAMP_NTZ '{dt.datetime(2024, 1, 1) + dt.timedelta(seconds=int(seconds))}'"  # noqa: DTZ001


def _days(name: str, most: int, length: int) -> Callable[[Random], str]:
    def one(draw: Random) -> str:
        day = int(draw.integers(0, most - length + 1))
        return f"{name} = {_day(day)}" if length == 1 else f"{name} BETWEEN {_day(day)} AND {_day(day + length - 1)}"

    return one


def _hours(name: str, seconds: int, length: int) -> Callable[[Random], str]:
    def one(draw: Random) -> str:
        start = int(draw.integers(0, seconds - length))
        return f"{name} >= {_time(start)} AND {name} < {_time(start + length)}"

    return one


def _equal(name: str, draw_value: Callable[[Random], object]) -> Callable[[Random], str]:
    return lambda draw: f"{name} = {draw_value(draw)!r}"


def _whole(most: int, skew: float = 1.0) -> Callable[[Random], int]:
    return lambda draw: int(most * draw.random() ** skew)


def _of(values: Sequence[str]) -> Callable[[Random], str]:
    return lambda draw: str(values[int(draw.integers(len(values)))])


def _above(name: str, low: float, high: float) -> Callable[[Random], str]:
    return lambda draw: f"{name} > {draw.uniform(low, high):.2f}"


def _both(*parts: Callable[[Random], str]) -> Callable[[Random], str]:
    return lambda draw: " AND ".join(part(draw) for part in parts)


def _texts(prefix: str, numbers: NDArray[Any]) -> NDArray[Any]:
    return np.char.add(prefix, np.char.zfill(numbers.astype(str), 5))


_URLS = [f"https://site-{i % 97}.example/{'abcdefgh'[i % 8] * 5}/page-{i}" for i in range(20_000)]
_COUNTERS = [int(x) for x in np.random.default_rng(1).integers(1, 300_000, 4_000)]
_SECONDS = 30 * 86_400


def _hits(draw: Random, rows: int) -> pa.Table:
    at = np.sort(draw.integers(0, _SECONDS, rows)) + draw.integers(0, 3_600, rows)
    counter = np.array(_COUNTERS)[(4_000 * draw.random(rows) ** 3).astype(int)]
    return pa.table(
        {
            "WatchID": draw.integers(1 << 40, 1 << 62, rows),
            "EventTime": _times(at),
            "EventDate": _date(at // 86_400),
            "CounterID": counter.astype(np.int32),
            "UserID": (draw.zipf(1.3, rows) % 400_000) * 2_654_435_761 % (1 << 61),
            "RegionID": ((counter * 7 + draw.integers(0, 5, rows)) % 9_000).astype(np.int32),
            "URL": np.array(_URLS)[(20_000 * draw.random(rows) ** 2).astype(int)],
            "SearchPhrase": np.where(draw.random(rows) < 0.8, "", _texts("phrase ", draw.integers(0, 60_000, rows))),
            "IsRefresh": (draw.random(rows) < 0.12).astype(np.int16),
            "ResolutionWidth": draw.choice([1366, 1920, 1280, 360, 414, 768], rows).astype(np.int16),
            "AdvEngineID": np.where(draw.random(rows) < 0.97, 0, draw.integers(1, 60, rows)).astype(np.int16),
        }
    )


def _taxi(draw: Random, rows: int) -> pa.Table:
    at = np.sort(draw.integers(0, 60 * 86_400, rows))
    at = at + draw.integers(0, 600, rows)
    distance = np.round(draw.lognormal(0.8, 0.8, rows), 2)
    lasted = (distance * 240 + draw.exponential(200, rows)).astype(int)
    fare = np.round(3 + distance * 2.5, 1)
    return pa.table(
        {
            "pickup": _times(at),
            "dropoff": _times(at + lasted),
            "passengers": draw.choice([1, 1, 1, 2, 3, 5], rows),
            "distance": distance,
            "from_zone": (265 * draw.random(rows) ** 2).astype(np.int32),
            "to_zone": (265 * draw.random(rows) ** 2).astype(np.int32),
            "payment": draw.choice([1, 1, 1, 2, 3, 4], rows),
            "fare": fare,
            "tip": np.where(draw.random(rows) < 0.4, 0.0, np.round(fare * draw.choice([0.1, 0.15, 0.2], rows), 2)),
            "total": np.round(fare * 1.15 + 2.5, 2),
        }
    )


def _iot(draw: Random, rows: int) -> pa.Table:
    device = draw.integers(0, 3_000, rows)
    at = np.arange(rows) * (30 * 86_400) // rows
    at = at - np.where(draw.random(rows) < 0.05, draw.exponential(40_000, rows), 0).astype(int)
    return pa.table(
        {
            "at": _times(np.maximum(at, 0)),
            "device": _texts("dev-", device),
            "site": _texts("site-", device // 60),
            "temp": np.round(20 + 8 * np.sin(at / 86_400 * 6.28) + draw.normal(0, 2, rows), 1),
            "humidity": np.round(draw.uniform(20, 90, rows), 1),
            "battery": np.maximum(100 - at // 40_000 - device % 30, 0).astype(np.int32),
            "status": draw.choice(["ok", "ok", "ok", "ok", "ok", "ok", "ok", "late", "error", "off"], rows),
            "seq": np.arange(rows),
        }
    )


def _sales(draw: Random, rows: int) -> pa.Table:
    day = np.sort(draw.integers(0, 730, rows))
    item = (18_000 * draw.random(rows) ** 2.5).astype(np.int64)
    price = np.round(draw.uniform(1, 300, rows), 2)
    return pa.table(
        {
            "ticket": np.arange(rows) // 5,
            "sold": _date(day),
            "item": item,
            "customer": (100_000 * draw.random(rows) ** 1.5).astype(np.int64),
            "store": draw.zipf(1.5, rows) % 200,
            "promo": np.where(draw.random(rows) < 0.7, 0, draw.integers(1, 300, rows)),
            "quantity": draw.integers(1, 100, rows),
            "price": price,
            "profit": np.round(price * draw.normal(0.1, 0.3, rows), 2),
        }
    )


def _noise(draw: Random, rows: int) -> pa.Table:
    return pa.table({name: draw.integers(0, 1 << 20, rows) for name in "abcdef"} | {"g": draw.random(rows)})


def _ordered(draw: Random, rows: int) -> pa.Table:
    day = np.sort(draw.integers(0, 73, rows))
    return pa.table(
        {"day": _date(day), "id": np.arange(rows), "kind": draw.integers(0, 8, rows), "v": draw.random(rows)}
    )


def _tickets(draw: Random, rows: int) -> pa.Table:
    return pa.table(
        {"ticket": np.arange(rows) // 10, "k": draw.integers(0, 100_000, rows), "v": draw.integers(0, 1 << 50, rows)}
    )


def _logs(draw: Random, rows: int) -> pa.Table:
    at = np.sort(draw.integers(0, 14 * 86_400, rows))
    level = draw.choice(["INFO", "DEBUG", "WARN", "ERROR"], rows, p=[0.7, 0.25, 0.04, 0.01])
    return pa.table(
        {
            "at": _times(at),
            "level": level,
            "service": _texts("svc-", (80 * draw.random(rows) ** 2).astype(int)),
            "host": _texts("host-", draw.integers(0, 500, rows)),
            "trace": np.char.mod("%016x", draw.integers(0, 1 << 62, rows) // 4 * 4),
            "status": draw.choice([200, 200, 200, 200, 204, 301, 404, 500], rows),
            "ms": np.round(draw.lognormal(3, 1, rows), 1),
            "message": np.char.add(_texts("request ", draw.integers(0, 90_000, rows)), " handled in time"),
        }
    )


def _wide(draw: Random, rows: int) -> pa.Table:
    few = rows // 4
    day = np.sort(draw.integers(0, 90, few))
    columns: dict[str, Any] = {"day": _date(day), "account": (50_000 * draw.random(few) ** 2).astype(np.int64)}
    for i in range(60):
        kind = draw.integers(0, 3)
        columns[f"f{i}"] = (
            draw.integers(0, 10 ** int(draw.integers(1, 7)), few) if kind else np.round(draw.normal(0, 10, few), 2)
        )
    return pa.table(columns)


def _nested(draw: Random, rows: int) -> pa.Table:
    at = np.sort(draw.integers(0, _SECONDS, rows))
    user = (60_000 * draw.random(rows) ** 2).astype(np.int64)
    device = pa.StructArray.from_arrays(
        [pa.array(draw.choice(["ios", "android", "web"], rows)), pa.array(draw.integers(1, 40, rows))],
        ["os", "version"],
    )
    return pa.table(
        {
            "at": _times(at),
            "user": user,
            "event": _texts("event-", (200 * draw.random(rows) ** 3).astype(int)),
            "device": device,
            "amount": pa.array(np.round(draw.exponential(30, rows), 2), mask=draw.random(rows) < 0.6),
        }
    )


def _skewed(draw: Random, rows: int) -> pa.Table:
    tenant = draw.zipf(1.3, rows) % 5_000
    return pa.table(
        {
            "tenant": tenant,
            "created": _date(np.minimum(729, (730 * draw.random(rows) ** 0.4).astype(int))),
            "object": draw.zipf(1.2, rows) % 900_000,
            "size": draw.lognormal(8, 2, rows).astype(np.int64),
            "state": draw.choice(["_done", "done", "done", "open", "failed"], rows),
            "owner": (tenant * 31 + draw.zipf(1.5, rows) % 20) % 40_000,
        }
    )


def _unique(draw: Random, rows: int) -> pa.Table:
    return pa.table(
        {
            "uuid": np.char.mod("%016x", draw.integers(0, 1 << 62, rows)),
            "order_id": draw.permutation(rows) * 3,
            "customer": draw.integers(0, rows // 2, rows),
            "placed": _times(np.sort(draw.integers(0, _SECONDS, rows)) + draw.integers(0, 5_000, rows)),
            "amount": np.round(draw.exponential(80, rows), 2),
        }
    )


_USERS = np.random.default_rng(3).zipf(1.3, 5_000) % 400_000 * 2_654_435_761 % (1 << 61)
SHAPES = {
    "hits": Shape(
        _hits,
        [
            _both(_equal("CounterID", lambda d: _COUNTERS[int(4_000 * d.random() ** 3)]), _days("EventDate", 30, 7)),
            _equal("CounterID", lambda d: _COUNTERS[int(4_000 * d.random() ** 3)]),
            _equal("UserID", lambda d: int(_USERS[int(d.integers(5_000))])),
            _equal("URL", lambda d: _URLS[int(20_000 * d.random() ** 2)]),
            _days("EventDate", 30, 1),
            _hours("EventTime", _SECONDS, 7_200),
            lambda _: "AdvEngineID <> 0",
            lambda _: "SearchPhrase <> ''",
            _equal("RegionID", _whole(9_000)),
        ],
    ),
    "taxi": Shape(
        _taxi,
        [
            _hours("pickup", 60 * 86_400, 86_400),
            _hours("dropoff", 60 * 86_400, 3_600),
            _equal("from_zone", _whole(265, 2)),
            _both(_equal("from_zone", _whole(265, 2)), _equal("to_zone", _whole(265, 2))),
            _above("distance", 8, 30),
            _above("tip", 5, 20),
            _equal("payment", lambda d: int(d.integers(1, 5))),
            _both(_equal("to_zone", _whole(265, 2)), _hours("pickup", 60 * 86_400, 7 * 86_400)),
        ],
    ),
    "iot": Shape(
        _iot,
        [
            _equal("device", lambda d: f"dev-{d.integers(3_000):05}"),
            _both(_equal("device", lambda d: f"dev-{d.integers(3_000):05}"), _hours("at", _SECONDS, 86_400)),
            _both(_equal("site", lambda d: f"site-{d.integers(50):05}"), _hours("at", _SECONDS, 86_400)),
            _hours("at", _SECONDS, 6 * 3_600),
            _both(_equal("status", _of(["error", "late", "off"])), _hours("at", _SECONDS, 86_400)),
            _equal("status", _of(["error", "late", "off"])),
            _above("temp", 33, 60),
            lambda d: f"battery < {d.integers(3, 12)}",
        ],
    ),
    "sales": Shape(
        _sales,
        [
            _days("sold", 730, 1),
            _days("sold", 730, 30),
            _equal("item", _whole(18_000, 2.5)),
            _equal("customer", _whole(100_000, 1.5)),
            _equal("ticket", _whole(ROWS // 5)),
            _equal("store", _whole(200, 2)),
            _both(_equal("store", _whole(200, 2)), _days("sold", 730, 30)),
            _equal("promo", lambda d: int(d.integers(1, 300))),
            _above("profit", 60, 200),
        ],
    ),
    "noise": Shape(
        _noise, [lambda d, n=n: f"{n} BETWEEN {(x := int(d.integers(0, 1 << 20)))} AND {x + 40_000}" for n in "abcde"]
    ),
    "ordered": Shape(
        _ordered, [_days("day", 73, 1), _days("day", 73, 7), _equal("id", _whole(ROWS)), _equal("kind", _whole(8))], 3
    ),
    "tickets": Shape(
        _tickets,
        [
            _equal("ticket", _whole(ROWS // 10)),
            _equal("k", _whole(100_000)),
            lambda d: f"k < {int(d.integers(300, 4_000))}",
        ],
        3,
    ),
    "logs": Shape(
        _logs,
        [
            _hours("at", 14 * 86_400, 3_600),
            _both(_equal("service", lambda d: f"svc-{d.integers(80):05}"), _hours("at", 14 * 86_400, 86_400)),
            lambda _: "level = 'ERROR'",
            _both(lambda _: "level IN ('WARN', 'ERROR')", _hours("at", 14 * 86_400, 86_400)),
            _equal("host", lambda d: f"host-{d.integers(500):05}"),
            lambda _: "status >= 500",
            _above("ms", 300, 900),
        ],
    ),
    "wide": Shape(
        _wide,
        [
            _days("day", 90, 1),
            _days("day", 90, 7),
            _equal("account", _whole(50_000, 2)),
            lambda d: f"f1 > {int(d.integers(5, 90))} AND f7 < 3",
            _both(_equal("account", _whole(50_000, 2)), _days("day", 90, 30)),
        ],
        3,
    ),
    "nested": Shape(
        _nested,
        [
            _hours("at", _SECONDS, 43_200),
            _equal("user", _whole(60_000, 2)),
            _equal("event", lambda d: f"event-{int(200 * d.random() ** 3):05}"),
            lambda d: f"device.version = {int(d.integers(1, 40))}",
            lambda _: "amount IS NOT NULL AND amount > 150",
            _both(_equal("device.os", _of(["ios", "web"])), _hours("at", _SECONDS, 86_400)),
        ],
        3,
    ),
    "skewed": Shape(
        _skewed,
        [
            _equal("tenant", lambda d: int(d.zipf(1.3) % 5_000)),
            _both(_equal("tenant", lambda d: int(d.zipf(1.3) % 5_000)), _days("created", 730, 30)),
            _days("created", 730, 7),
            _equal("object", lambda d: int(d.zipf(1.2) % 900_000)),
            _both(lambda _: "state = 'failed'", _days("created", 730, 30)),
            lambda d: f"size > {int(d.lognormal(11, 1))}",
            _equal("owner", _whole(40_000)),
        ],
        3,
    ),
    "unique": Shape(
        _unique,
        [
            _equal("order_id", lambda d: int(d.integers(ROWS)) * 3),
            _equal("customer", _whole(ROWS // 2)),
            _hours("placed", _SECONDS, 86_400),
            _above("amount", 300, 600),
            _equal("uuid", lambda d: f"{int(d.integers(0, 1 << 62)):016x}"),
        ],
        3,
    ),
}


def workload(shape: Shape, number: int) -> list[str]:
    """Draw 12 to 20 predicates; each workload weights the templates differently."""
    draw = np.random.default_rng([number, 44])
    weights = draw.dirichlet(np.full(len(shape.predicates), 0.8))
    chosen = draw.choice(len(shape.predicates), int(draw.integers(12, 21)), p=weights)
    return [shape.predicates[i](draw) for i in chosen]
