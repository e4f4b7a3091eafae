"""SQL files: statement boundaries, the reads of each statement, and counts of statements that are not understood."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.advisor.workload.load import load_workload
from prune_assets.advisor.workload.redact import redacted


@pytest.fixture
def path(tmp_path):
    return tmp_path / "queries.sql"


@pytest.fixture
def read(path):
    def read(text, table=None):
        path.write_text(text)
        return pr.Workload.read(path, table=table)

    return read


def scans(found):
    return [(shape.table, shape.predicates[0].where, shape.columns, shape.runs) for shape in found.shapes]


def only(found):
    assert found.not_understood == {}
    (shape,) = found.shapes
    return shape.predicates[0].where, " ".join(shape.columns)


ALL = "*"

SELECTS = [
    # A star means every column, and count(*) reads no column.
    ("SELECT * FROM t WHERE plate = 'BA-7919'", "plate = 'BA-7919'", ALL),
    ("select distinct t.* from `lake`.`t` where id > 5", "id > 5", ALL),
    ("SELECT *, a + 1 AS b FROM t", "", ALL),
    ("SELECT struct(*) FROM t", "", ALL),
    ("SELECT count(*) FROM t WHERE id > 5", "id > 5", "id"),
    ("SELECT count(*) FROM t", "", ""),
    ("SELECT price * 2 FROM t", "", "price"),
    # Every clause reads.
    (
        "SELECT upper(a), CASE WHEN b THEN c END FROM t WHERE d = 1 GROUP BY e HAVING max(f) > 1 ORDER BY g, abs(h)",
        "d = 1",
        "a b c d e f g h",
    ),
    ("SELECT a, row_number() OVER (PARTITION BY b ORDER BY c) AS n FROM t ORDER BY n", "", "a b c"),
    ("SELECT transform(list, x -> x + y), m['k'], s.items[0].z, date, user FROM t", "", "date list m s.items user y"),
    ("SELECT CAST(a AS BIGINT), b::date, DATE '2024-01-01', current_date() FROM t", "", "a b"),
    # The names of clauses may be columns.
    ("SELECT id FROM t WHERE offset > 5 ORDER BY offset LIMIT 3", "offset > 5", "id offset"),
    ("SELECT id FROM t WHERE id > 5 LIMIT 3 OFFSET 7", "id > 5", "id"),
    # Qualifiers.
    ("SELECT t.plate FROM tickets t WHERE t.zone = 3", "zone = 3", "plate zone"),
    (
        "SELECT o.plate FROM tickets AS o WHERE O.zone = 3 AND (o.`plate` IS NULL)",
        "zone = 3 AND (`plate` IS NULL)",
        "plate zone",
    ),
    ("SELECT tickets.plate FROM tickets WHERE Tickets.zone = 3", "zone = 3", "plate zone"),
    (
        "SELECT lake.tickets.plate FROM lake.tickets WHERE tickets.zone = lake.tickets.day",
        "zone = day",
        "day plate zone",
    ),
    (
        "SELECT t.address.city FROM tickets t WHERE t.address.zip.code = 1",
        "address.zip.code = 1",
        "address.city address.zip.code",
    ),
    ("SELECT t.a.b.c.d.e FROM tickets t", "", "a.b.c.d.e"),
    ("SELECT address.* FROM tickets t WHERE zip.code = 1", "zip.code = 1", "address zip.code"),
    # The qualifier wins over a struct of its name; an alias hides the name of the table.
    ("SELECT t.zone, t.t.zone FROM tickets t WHERE t.t.zone = 1", "t.zone = 1", "t.zone zone"),
    ("SELECT t FROM tickets t WHERE tickets.zone = 1", "tickets.zone = 1", "t tickets.zone"),
    ("SELECT t.`a b` FROM tickets t WHERE t.`a b` = 't.x'", "`a b` = 't.x'", "`a b`"),
]


@pytest.mark.parametrize(("sql", "where", "columns"), SELECTS, ids=[sql for sql, _, _ in SELECTS])
def test_what_a_select_reads(read, sql, where, columns):
    assert only(read(sql)) == (where, columns)


SQL = """
-- what dashboards ask; 'all of it
id = 7  -- weight: 10
SELECT user FROM sales.orders AS o WHERE day = DATE '2024-01-01' AND (id IN (1, 2)) LIMIT 3;
SELECT count(*) /* all
of them; */ FROM t -- weight: 2.5
SELECT
  o.user,  -- whose
  price
FROM sales.orders o
WHERE o.note = 'a;b -- c'
  AND o.id IN (
    1,
    2
  )
ORDER BY price;  -- weight: 3
id > 9; id < 9;
SELECT id
FROM t
WHERE
  id = 1
"""


def test_statements_are_lines_or_end_with_a_semicolon(read):
    found = read(SQL)
    assert len(found.not_understood) == 1
    assert sorted(scans(found)) == [
        ("sales.orders", "day = DATE '2024-01-01' AND (id IN (1, 2))", ("day", "id", "user"), 1.0),
        ("sales.orders", "note = 'a;b -- c' AND id IN (1, 2)", ("id", "note", "price", "user"), 3.0),
        ("t", "", (), 2.5),
        ("t", "id = 1", ("id",), 1.0),
    ]
    on_table = read(SQL, table="lake.t")
    assert on_table.not_understood == {}
    assert sorted(scans(on_table)) == [
        ("lake.t", "id < 9", ("*",), 1.0),
        ("lake.t", "id = 7", ("*",), 10.0),
        ("lake.t", "id > 9", ("*",), 1.0),
    ]


@pytest.mark.parametrize("comment", ["-- weight: 5", "-- weight 5", "--weight=5", "-- Weight : 5.0"])
def test_weights_as_people_write_them_in_a_file_with_a_byte_order_mark(read, comment):
    found = read(f"\ufeffSELECT id FROM t WHERE id = 1  {comment}\nSELECT k FROM t WHERE k = 2  -- weight5")
    assert found.not_understood == {}
    assert sorted(scans(found)) == [("t", "id = 1", ("id",), 5.0), ("t", "k = 2", ("k",), 1.0)]


def test_conditions_of_several_lines_are_one(read):
    found = read("id = 7\n  AND day IN (1,  -- Monday\n 2)\nid = 8", table="t")
    assert [where for _, where, _, _ in scans(found)] == ["id = 8"]
    found = read("id = 7 -- first\n  AND day = 1\nid = 8", table="t")
    assert sorted(where for _, where, _, _ in scans(found)) == ["id = 7 AND day = 1", "id = 8"]


REFUSED = [
    ("SELECT * FROM a JOIN t ON a.x = t.x WHERE a.x = 1", "a JOIN"),
    ("SELECT * FROM a, t", "a JOIN"),
    ("SELECT *\nFROM a\nLEFT JOIN t USING (x);", "a JOIN"),
    ("SELECT a FROM (SELECT * FROM t) WHERE a = 1", "a subquery in FROM"),
    ("SELECT a FROM (\nSELECT * FROM t\n) WHERE a = 1;", "a subquery in FROM"),
    ("SELECT a FROM t\nUNION ALL\nSELECT a FROM u;", "UNION"),
    ("(SELECT a FROM t) UNION (SELECT a FROM u)", "UNION"),
    ("SELECT a FROM t EXCEPT SELECT a FROM u", "EXCEPT"),
    ("WITH q AS (\n  SELECT 1\n)\nSELECT * FROM q;", "a WITH"),
    ("WITH q AS (SELECT 1) SELECT * FROM q", "a WITH"),
    ("WITH q AS (SELECT 1)\nSELECT * FROM q;", "a WITH"),
    ("SELECT c FROM t LATERAL VIEW explode(b) AS c WHERE c = 1", "a LATERAL VIEW"),
    ("SELECT * FROM range(10)", "a function in FROM"),
    ("SELECT 1", "a SELECT without FROM"),
    ("SELECT a FROM t WHERE", "no readable SELECT"),
    ("SELECT a FROM t WHERE a = 'x", "no readable SELECT"),
    ("SELECT a FROM t WHERE a = é", "a condition that cannot be read (predicate, character "),
    ("this is no SQL", "no SELECT and no condition (predicate, character "),
    ("id = 'x", "no SELECT and no condition (predicate, character 6"),
    ("id IN (1, 2", "no SELECT and no condition (predicate, at its end"),
    ("INSERT INTO u VALUES (1)", "no SELECT and no condition (predicate, character "),
    ("id = 7", "a condition without a table; pass --table"),
]


@pytest.mark.parametrize(("sql", "reason"), REFUSED, ids=[sql for sql, _ in REFUSED])
def test_what_is_not_understood_is_counted_with_its_line_and_the_rest_is_used(read, path, sql, reason):
    found = read(f"SELECT a FROM t WHERE a = 1\n{sql}\nSELECT a FROM t WHERE a = 2\n")
    assert [(shape.shape, shape.runs) for shape in found.shapes] == [("a = ?", 2.0)]
    ((named, count),) = found.not_understood.items()
    assert named.startswith(f"{path}, line 2: {reason}")
    assert count == 1
    assert "\n" not in named
    with pytest.raises(WrongUse) as raised:
        read(sql)
    assert str(raised.value) == named.replace("line 2", "line 1")


def test_equal_reasons_are_one_with_their_lines(read, path):
    found = read("SELECT a FROM t;\n" + "SELECT * FROM a, b;\n" * 7)
    ((named, count),) = found.not_understood.items()
    assert named.startswith(f"{path}, lines 2, 3, 4, 5, 6 and 2 more: a JOIN; ")
    assert count == 7


def test_a_conjunct_with_a_subquery_is_left_out(read, path):
    found = read(
        "SELECT a FROM t WHERE id IN (SELECT x FROM u WHERE y = 1) AND t.k = 1\nb = 1 OR EXISTS (SELECT 1)", "t"
    )
    assert sorted((shape.shape, shape.columns, shape.left_out) for shape in found.shapes) == [
        ("", ("*",), ("a subquery",)),
        ("k = ?", ("a", "id", "k"), ("a subquery",)),
    ]
    assert found.not_understood == {f"{path}, lines 1, 2: a subquery": 2}


def test_redacted_reasons_show_no_constant(read, path):
    found = redacted(read("SELECT a FROM t\nid = 'Ann\nid ? 'Bob'\nSELECT a FROM t WHERE a NOR 'Cid'\n"))
    assert "Ann" not in repr(found)
    assert found.not_understood == {
        f"{path}, line 2: no SELECT and no condition": 1,
        f"{path}, line 3: no SELECT and no condition": 1,
        f"{path}, line 4: no readable SELECT; end a SELECT of several lines with ;": 1,
    }
    assert redacted(read("SELECT a FROM t\nSELECT a FROM t WHERE a = é AND b = 'Ann'")).not_understood == {
        f"{path}, line 2: a condition that cannot be read": 1
    }


def test_advise_reads_the_same_and_counts_all_columns(tmp_path, path):
    rows = {"plate": [str(i * 7919 % 1_000) for i in range(1_000)], "zone": range(1_000), "price": range(1_000)}
    pq.write_table(pa.table(rows), tmp_path / "tickets.parquet")
    table = tmp_path / "tickets.parquet"

    def whole(text):
        path.write_text(text)
        return pr.advise(table, workload=load_workload(path, table=str(table))).whole

    every = pr.advise(table, workload=["plate = '7'"]).whole
    assert whole("SELECT * FROM tickets WHERE plate = '7'") == whole("plate = '7'") == every
    narrow = whole("SELECT t.plate FROM tickets t WHERE t.plate = '7'\nSELECT * FROM tickets JOIN u")
    assert narrow == whole("SELECT plate FROM tickets WHERE plate = '7'") < every


@pytest.mark.parametrize("form", ["parquet", "delta", "Iceberg"])
def test_a_path_after_its_format_is_the_table_of_that_path(read, form):
    text = f"SELECT id FROM {form}.`/lake/orders` WHERE id = 1"
    assert [table for table, *_ in scans(read(text))] == ["/lake/orders"]
    assert [runs for *_, runs in scans(read(text, table="/lake/orders"))] == [1.0]
    assert [table for table, *_ in scans(read("SELECT id FROM delta.orders WHERE id = 1"))] == ["delta.orders"]
