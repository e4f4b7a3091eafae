"""Rows as web analytics, event streams and log shippers write them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa

TIMES = pa.timestamp("us", tz="UTC")
AGENTS = ["Mozilla/5.0 (Windows NT 10.0)", "Mozilla/5.0 (X11; Linux)", "curl/8.1", "Googlebot/2.1", "okhttp/4.9"]


def _moments(first, seconds, kind=TIMES):
    start = int(dt.datetime.fromisoformat(first).replace(tzinfo=dt.UTC).timestamp())
    return pa.array((start + np.asarray(seconds)) * 1_000_000, pa.int64()).cast(kind)


def hits():
    """Page views in the shape of ClickBench, in the order of their counters."""
    chance = np.random.default_rng(3)
    count = 6_000
    counter = np.sort(chance.choice([62, 100, 1_500, 2_000, 29_000, 60_000, 100_000], count))
    second = chance.integers(0, 31 * 86_400, count)
    phrases = np.array(["", "", "", "", "karelia", "buy a car", "weather moscow", "google translate", "hotel 'sea'"])
    sites = np.array(
        ["http://google.ru/search", "http://example.com/a?x=1", "https://shop.test/item/7", "", "http://a.b"]
    )
    width = chance.choice([0, 1024, 1280, 1366, 1600, 1920], count)
    return pa.table(
        {
            "WatchID": chance.integers(1, 1 << 62, count),
            "CounterID": pa.array(counter, pa.int32()),
            "EventTime": _moments("2013-07-01T00:00:00", second, pa.timestamp("us")),
            "EventDate": (np.datetime64("2013-07-01") + second // 86_400).astype("datetime64[D]"),
            "UserID": chance.integers(-(1 << 40), 1 << 40, count),
            "RegionID": pa.array(chance.integers(1, 240, count), pa.int16()),
            "URL": [f"{site}#{number % 400}" for number, site in enumerate(chance.choice(sites, count).tolist())],
            "Title": np.array(["Home", "Search results", "", "Cart (2)", "100% wool"])[chance.integers(0, 5, count)],
            "SearchPhrase": phrases[chance.integers(0, len(phrases), count)],
            "AdvEngineID": pa.array(chance.choice([0] * 30 + [2, 3, 27], count), pa.int16()),
            "ResolutionWidth": pa.array(width, pa.int16()),
            "IsRefresh": pa.array(chance.integers(0, 2, count), pa.int8()),
            "DontCountHits": pa.array(chance.choice([0, 0, 0, 1], count), pa.int8()),
            "MobilePhoneModel": np.array(["", "", "", "iPad", "iPhone 5", "GT-I9300"])[chance.integers(0, 6, count)],
            "Income": pa.array(chance.normal(2.0, 1.0, count).astype(np.float32)),
        }
    )


def raw_hits():
    """Page views with times as plain numbers: days in 16 bits without a sign, seconds in 64."""
    rows = hits()
    seconds = rows["EventTime"].cast(pa.timestamp("s")).cast(pa.int64())
    days = rows["EventDate"].cast(pa.date32()).cast(pa.int32()).cast(pa.uint16())
    rows = rows.set_column(rows.schema.get_field_index("EventTime"), "EventTime", seconds)
    return rows.set_column(rows.schema.get_field_index("EventDate"), "EventDate", days)


def events():
    """Public events with structs, a list and a map; ten days, in the order of their time."""
    chance = np.random.default_rng(5)
    count = 5_000
    kinds = np.array(["PushEvent", "PullRequestEvent", "IssuesEvent", "WatchEvent", "ForkEvent", "CreateEvent"])
    second = np.sort(chance.integers(0, 10 * 86_400, count))
    actor = chance.integers(1, 900, count)
    repo = chance.integers(1, 300, count)
    labels = [["bug"], ["bug", "good first issue"], [], ["docs"], None, ["question", "wontfix", "bug"]]
    attrs = [[("source", "web")], [("source", "api"), ("ip", "10.0.0.1")], [], None]
    action = np.array(["opened", "closed", "reopened", None], object)
    rows = {
        "id": [str(30_000_000_000 + number * 7) for number in range(count)],
        "type": kinds[chance.integers(0, len(kinds), count)],
        "created_at": _moments("2024-03-01T00:00:00", second),
        "day": (np.datetime64("2024-03-01") + second // 86_400).astype("datetime64[D]"),
        "public": pa.array(chance.random(count) < 0.9),
        "actor": [{"id": one, "login": f"user-{one}", "bot": one % 50 == 0} for one in actor.tolist()],
        "repo": [
            None
            if one == 13
            else {"id": one, "name": f"org{one % 20}/repo-{one}", "owner": {"login": f"org{one % 20}"}}
            for one in repo.tolist()
        ],
        "action": pa.array(action[chance.integers(0, 4, count)].tolist(), pa.string()),
        "size": pa.array(chance.geometric(0.2, count), pa.int64(), mask=chance.random(count) < 0.4),
        "labels": pa.array([labels[one] for one in chance.integers(0, len(labels), count)], pa.list_(pa.string())),
        "attrs": pa.array(
            [attrs[one] for one in chance.integers(0, len(attrs), count)], pa.map_(pa.string(), pa.string())
        ),
    }
    return pa.table(rows)


def events_by_day():
    """Events with the name of their type told apart from its column."""
    rows = events()
    return rows.append_column("kind", rows["type"])


def logs():
    """Return the requests of three days in order of time, with day and hour columns."""
    chance = np.random.default_rng(7)
    count = 5_000
    second = np.sort(chance.integers(0, 3 * 86_400, count))
    paths = np.array(
        ["/", "/index.html", "/api/v1/users", "/api/v1/orders/17", "/static/app.js", "/login", "/search?q=x"]
    )
    day = (np.datetime64("2024-05-30") + second // 86_400).astype("datetime64[D]")
    address = chance.integers(0, 256, (count, 2)).tolist()
    return pa.table(
        {
            "ts": _moments("2024-05-30T00:00:00", second),
            "dt": [str(one) for one in day],
            "hr": pa.array(second % 86_400 // 3_600, pa.int32()),
            "host": [f"web-{one:02d}.eu-west-1.example.com" for one in chance.integers(1, 9, count).tolist()],
            "ip": [f"10.{a}.{b}.7" for a, b in address],
            "method": chance.choice(["GET", "GET", "GET", "POST", "PUT", "DELETE"], count),
            "path": chance.choice(paths, count),
            "status": pa.array(chance.choice([200, 200, 200, 200, 301, 304, 404, 500, 503], count), pa.int32()),
            "bytes": pa.array(chance.pareto(1.5, count) * 500, pa.float64()).cast(pa.int64(), safe=False),
            "seconds": pa.array(chance.exponential(0.2, count)),
            "agent": chance.choice(AGENTS, count),
            "referer": pa.array(["https://www.example.com/" if one else None for one in chance.integers(0, 2, count)]),
            "user_id": pa.array(chance.integers(1, 500, count), pa.int64(), mask=chance.random(count) < 0.3),
        }
    )


def recent():
    """Sign-ins of the sixty days before today, an hour apart at noon's mark, each with its day."""
    today = dt.datetime.now(dt.UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    hours = np.arange(60 * 24)
    start = today - dt.timedelta(days=59)
    moments = [start + dt.timedelta(hours=int(one)) for one in hours]
    return pa.table(
        {
            "day": [moment.date() for moment in moments],
            "at": pa.array(moments, TIMES),
            "user": [f"u{one % 37}" for one in hours.tolist()],
            "ok": (hours % 9 != 0).tolist(),
            "amount": pa.array(hours * 3 % 501, pa.int32()),
        }
    )
