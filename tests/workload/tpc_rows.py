"""Rows of TPC-H at a tiny scale, as its generator makes them, and in the shape of TPC-DS."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SCALES = {"lineitem": 0.001, "orders": 0.002, "customer": 0.02, "part": 0.02}


@cache
def tpch(name):
    """Generate a table of TPC-H; every column may be null, as in most tables that people have."""
    program = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts"))
    with tempfile.TemporaryDirectory() as directory:
        asked = [program, "parquet", "-s", str(SCALES[name]), f"--tables={name}", f"--output-dir={directory}"]
        subprocess.run(asked, check=True, capture_output=True)
        rows = pq.read_table(Path(directory) / f"{name}.parquet")
    kinds = [pa.string() if pa.types.is_string_view(field.type) else field.type for field in rows.schema]
    return rows.cast(pa.schema([pa.field(field.name, kind) for field, kind in zip(rows.schema, kinds, strict=True)]))


def lineitem():
    return tpch("lineitem")


def lineitem_by_year_month():
    """Line items with the year and month of their shipment as columns of their own."""
    rows = tpch("lineitem")
    day = rows["l_shipdate"]
    rows = rows.append_column("ship_year", pc.year(day).cast(pa.int32()))
    return rows.append_column("ship_month", pc.month(day).cast(pa.int32()))


def orders():
    return tpch("orders")


def orders_by_month():
    rows = tpch("orders")
    return rows.append_column("o_month", pc.floor_temporal(rows["o_orderdate"], unit="month"))


def customer():
    """Customers; the phone of one in ten is not known, and the balance of one in twenty."""
    rows = tpch("customer")
    number = np.arange(rows.num_rows)
    for name, every in (("c_phone", 10), ("c_acctbal", 20)):
        known = pa.array(number % every != 3)
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pc.if_else(known, rows[name], pa.scalar(None, rows[name].type)))
    return rows


def part():
    return tpch("part")


def money(cents, digits):
    """Return whole cents as decimals with `digits` digits."""
    return pa.array([Decimal(one).scaleb(-2) for one in cents.tolist()], pa.decimal128(digits, 2))


def _some_null(values, chance, share, kind):
    return pa.array(values, kind, mask=chance.random(len(values)) < share)


def store_sales():
    """Return sales by day number, with some null day numbers, as in TPC-DS."""
    chance = np.random.default_rng(11)
    count = 4_000
    cents = chance.integers(100, 20_000, count)
    quantity = chance.integers(1, 100, count)
    profit = chance.integers(-5_000, 5_000, count)
    return pa.table(
        {
            "ss_sold_date_sk": _some_null(2_451_000 + np.sort(chance.integers(0, 30, count)), chance, 0.03, pa.int32()),
            "ss_sold_time_sk": _some_null(chance.integers(28_800, 75_600, count), chance, 0.03, pa.int32()),
            "ss_item_sk": pa.array(chance.integers(1, 2_000, count), pa.int32()),
            "ss_customer_sk": _some_null(chance.integers(1, 10_000, count), chance, 0.04, pa.int32()),
            "ss_store_sk": _some_null(chance.integers(1, 12, count), chance, 0.04, pa.int32()),
            "ss_promo_sk": _some_null(chance.integers(1, 300, count), chance, 0.5, pa.int32()),
            "ss_quantity": _some_null(quantity, chance, 0.04, pa.int32()),
            "ss_sales_price": money(cents, 7),
            "ss_net_profit": pa.array([None if one % 25 == 0 else one for one in profit.tolist()], pa.int64()),
            "ss_ext_discount": _some_null(chance.normal(10, 5, count).round(2), chance, 0.3, pa.float64()),
        }
    )


def date_dim():
    """Return six years of days with calendar attributes."""
    day = np.arange(np.datetime64("1998-01-01"), np.datetime64("2004-01-01"))
    days = pa.array(day)
    quarter = pc.quarter(days)
    year = pc.year(days)
    return pa.table(
        {
            "d_date_sk": pa.array(2_450_815 + np.arange(len(day)), pa.int32()),
            "d_date_id": [f"AAAAAAAA{number:08X}" for number in range(len(day))],
            "d_date": days,
            "d_year": year.cast(pa.int32()),
            "d_moy": pc.month(days).cast(pa.int32()),
            "d_dom": pc.day(days).cast(pa.int32()),
            "d_qoy": quarter.cast(pa.int32()),
            "d_day_name": pc.strftime(days, "%A"),
            "d_quarter_name": pc.binary_join_element_wise(year.cast(pa.string()), quarter.cast(pa.string()), "Q"),
            "d_holiday": pa.array(["Y" if number % 17 == 0 else "N" for number in range(len(day))]),
            "d_weekend": pc.if_else(pc.greater(pc.day_of_week(days), 4), "Y", "N"),
            "d_following_holiday": pa.array([number % 17 == 1 for number in range(len(day))]),
        }
    )
