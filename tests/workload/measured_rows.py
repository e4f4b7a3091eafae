"""Rows of journeys, sensors and changes."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa

from .tpc_rows import money

AIRPORTS = ["ATL", "BOS", "DEN", "DFW", "JFK", "LAX", "ORD", "PHX", "SEA", "SFO"]


def flights():
    """Return a year of unsorted flights; cancelled flights have no delay."""
    chance = np.random.default_rng(13)
    count = 5_000
    day = np.datetime64("2023-01-01") + chance.integers(0, 365, count)
    cancelled = chance.random(count) < 0.04
    months = day.astype("datetime64[M]").astype(int) % 12 + 1
    return pa.table(
        {
            "flight_date": day.astype("datetime64[D]"),
            "year": pa.array(np.full(count, 2023), pa.int32()),
            "month": pa.array(months, pa.int32()),
            "carrier": chance.choice(["AA", "AS", "B6", "DL", "UA", "WN"], count),
            "flight_num": pa.array(chance.integers(1, 6_000, count), pa.int32()),
            "tail_num": [f"N{one:05d}" for one in chance.integers(100, 900, count).tolist()],
            "origin": chance.choice(AIRPORTS, count),
            "dest": chance.choice(AIRPORTS, count),
            "dep_time": [f"{one // 60:02d}:{one % 60:02d}" for one in chance.integers(300, 1_430, count).tolist()],
            "dep_delay": pa.array(chance.exponential(20, count).round() - 8, pa.float64(), mask=cancelled),
            "arr_delay": pa.array((chance.exponential(22, count) - 12).astype(np.float32), mask=cancelled),
            "distance": pa.array(chance.integers(100, 2_800, count), pa.int32()),
            "cancelled": cancelled,
            "cancel_code": pa.array(chance.choice(["A", "B", "C"], count), mask=~cancelled),
        }
    )


def taxi():
    """Rides of January, in the order of their start; times without a zone."""
    chance = np.random.default_rng(17)
    count = 5_000
    start = np.datetime64("2024-01-01T00:00:00", "us") + np.sort(chance.integers(0, 31 * 86_400, count)) * 1_000_000
    fare = chance.gamma(2.0, 8.0, count).round(2)
    return pa.table(
        {
            "VendorID": pa.array(chance.choice([1, 2, 6], count), pa.int32()),
            "tpep_pickup_datetime": pa.array(start, pa.timestamp("us")),
            "tpep_dropoff_datetime": pa.array(
                start + chance.integers(120, 4_000, count) * 1_000_000, pa.timestamp("us")
            ),
            "passenger_count": pa.array(chance.integers(0, 7, count), pa.int64(), mask=chance.random(count) < 0.05),
            "trip_distance": chance.gamma(2.0, 1.6, count).round(2),
            "RatecodeID": pa.array(chance.choice([1.0, 1.0, 1.0, 2.0, 5.0, 99.0], count)),
            "store_and_fwd_flag": pa.array(chance.choice(["N", "N", "N", "Y"], count)),
            "PULocationID": pa.array(chance.integers(1, 264, count), pa.int32()),
            "DOLocationID": pa.array(chance.integers(1, 264, count), pa.int32()),
            "payment_type": pa.array(chance.choice([1, 1, 1, 2, 3, 4], count), pa.int64()),
            "fare_amount": np.where(chance.random(count) < 0.02, -fare, fare),
            "tip_amount": np.where(chance.random(count) < 0.4, 0.0, (fare * 0.2).round(2)),
            "airport_fee": pa.array(chance.choice([0.0, 0.0, 1.75], count), mask=chance.random(count) < 0.1),
        }
    )


def readings():
    """Return sensor readings, grouped by device: floats with NaN, -0.0 and nulls."""
    chance = np.random.default_rng(19)
    count = 6_000
    device = np.repeat(np.arange(40), count // 40)
    value = chance.normal(21, 4, count)
    value[chance.random(count) < 0.02] = np.nan
    value[chance.random(count) < 0.02] = -0.0
    second = np.tile(np.arange(count // 40) * 600, 40)
    names = np.array([f"sensor {one:02d}" for one in range(40)])
    sites = np.array(["Hall A", "Hall B", "North Gate", "Roof/East"])
    start = int(dt.datetime(2024, 10, 26, tzinfo=dt.UTC).timestamp())
    moments = pa.array((start + second) * 1_000_000, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    return pa.table(
        {
            "device": names[device],
            "site": sites[device % 4],
            "ts": moments,
            "local_ts": moments.cast(pa.timestamp("us")),
            "temperature": pa.array(value, mask=chance.random(count) < 0.05),
            "humidity": pa.array(chance.uniform(20, 90, count).astype(np.float32), mask=chance.random(count) < 0.1),
            "battery": pa.array(100 - np.tile(np.arange(count // 40), 40) % 100, pa.int16()),
            "status": pa.array(
                chance.choice(["ok", "ok", "ok", "warn", "fail"], count), mask=chance.random(count) < 0.1
            ),
            "firmware": np.array(["1.0.3", "1.2.0", "2.0.1", "2.1.0-rc1"])[device // 10],
            "alarm": pa.array(chance.random(count) < 0.03, mask=chance.random(count) < 0.2),
            "raw": [bytes([one, 255 - one]) for one in chance.integers(0, 256, count).tolist()],
        }
    )


def changes():
    """A stream of changes to accounts: the row before and after each, deletes without an after."""
    chance = np.random.default_rng(23)
    count = 4_000
    op = chance.choice(["c", "u", "u", "u", "d"], count)
    account = chance.integers(1, 700, count)
    cents = chance.integers(0, 1_000_000, count)
    moment = np.datetime64("2024-08-01T00:00:00", "us") + np.arange(count) * 97_000_000

    def state(number, change):
        status = ["active", "closed", "frozen"][(number + change) % 3]
        return {"id": int(account[number]), "balance": int(cents[number]) + change, "status": status}

    after = [None if op[number] == "d" else state(number, 1) for number in range(count)]
    before = [None if op[number] == "c" else state(number, 0) for number in range(count)]
    shape = pa.struct([("id", pa.int64()), ("balance", pa.int64()), ("status", pa.string())])
    return pa.table(
        {
            "lsn": pa.array(1_000_000 + np.arange(count) * 16, pa.int64()),
            "op": op,
            "committed_at": pa.array(moment, pa.timestamp("us", tz="UTC")),
            "account_id": pa.array(account, pa.int32()),
            "amount": money(cents, 18),
            "before": pa.array(before, shape),
            "after": pa.array(after, shape),
            "is_deleted": op == "d",
            "source_file": [f"wal-{number // 500:06d}.log" for number in range(count)],
            "note": pa.array([None if number % 3 else f"batch {number // 100}" for number in range(count)]),
        }
    )
