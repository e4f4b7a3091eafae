"""MERGE statements as people, dbt and the documentation of Delta, Databricks and Iceberg write them."""

from __future__ import annotations

import random
from typing import NamedTuple

import duckdb
import pytest

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.merge_statement import (
    Action,
    ClauseCase,
    Unused,
    merge_statement,
    parse_merge,
    table_location,
)

UPSERT = " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
CODES = {
    "MU": (ClauseCase.MATCHED, Action.UPDATE),
    "MD": (ClauseCase.MATCHED, Action.DELETE),
    "NI": (ClauseCase.NOT_MATCHED, Action.INSERT),
    "SU": (ClauseCase.NOT_MATCHED_BY_SOURCE, Action.UPDATE),
    "SD": (ClauseCase.NOT_MATCHED_BY_SOURCE, Action.DELETE),
}


STAGED = """(
  SELECT updates.customerId AS mergeKey, updates.* FROM updates
  UNION ALL
  SELECT NULL AS mergeKey, updates.* FROM updates JOIN customers ON updates.customerId = customers.customerId
  WHERE customers.current = true AND updates.address <> customers.address
)"""


class Case(NamedTuple):
    """`keys`: `target = source` or `target <=> source`."""

    sql: str
    tables: tuple[str, str | None, str, str | None]
    keys: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    unused: tuple[tuple[str, Unused], ...] = ()
    clauses: str = "MU NI"


def merged(on, **parts):
    """A case of tables `orders t` and `news s`."""
    return Case(f"MERGE INTO orders t USING news s ON {on}{UPSERT}", ("orders", "t", "news", "s"), **parts)


CASES = [
    # -- Delta and Databricks
    Case(
        """MERGE INTO people10m
USING people10mupdates
ON people10m.id = people10mupdates.id
WHEN MATCHED THEN
  UPDATE SET
    id = people10mupdates.id,
    firstName = people10mupdates.firstName
WHEN NOT MATCHED
  THEN INSERT (
    id,
    firstName
  )
  VALUES (
    people10mupdates.id,
    people10mupdates.firstName
  )""",
        ("people10m", None, "people10mupdates", None),
        keys=("id = people10mupdates.id",),
    ),
    Case(
        "MERGE INTO delta.`/tmp/delta/people-10m` AS target\nUSING delta.`/tmp/delta/updates` AS source\n"
        "ON source.key = target.key\nWHEN MATCHED THEN UPDATE SET *\nWHEN NOT MATCHED THEN INSERT *\n"
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        ("delta.`/tmp/delta/people-10m`", "target", "delta.`/tmp/delta/updates`", "source"),
        keys=("key = source.key",),
        clauses="MU NI SD",
    ),
    Case(
        "MERGE INTO target\nUSING source\nON source.key = target.key\nWHEN MATCHED THEN\n"
        "  UPDATE SET target.lastSeen = source.timestamp\nWHEN NOT MATCHED THEN\n"
        "  INSERT (key, lastSeen, status) VALUES (source.key,  source.timestamp, 'active')\n"
        "WHEN NOT MATCHED BY SOURCE AND target.lastSeen >= (current_date() - INTERVAL '5' DAY) THEN\n"
        "  UPDATE SET target.status = 'inactive'",
        ("target", None, "source", None),
        keys=("key = source.key",),
        clauses="MU NI SU",
    ),
    Case(
        "MERGE INTO logs USING newDedupedLogs ON logs.uniqueId = newDedupedLogs.uniqueId"
        " AND logs.date > current_date() - INTERVAL 7 DAYS WHEN NOT MATCHED"
        " AND newDedupedLogs.date > current_date() - INTERVAL 7 DAYS THEN INSERT *",
        ("logs", None, "newDedupedLogs", None),
        keys=("uniqueId = newDedupedLogs.uniqueId",),
        target=("date > current_date() - INTERVAL 7 DAYS",),
        clauses="NI",
    ),
    Case(
        f"MERGE INTO customers USING {STAGED} staged_updates\n"
        "ON customers.customerId = staged_updates.mergeKey\n"
        "WHEN MATCHED AND customers.current = true AND customers.address <> staged_updates.address THEN\n"
        "  UPDATE SET current = false, endDate = staged_updates.effectiveDate\n"
        "WHEN NOT MATCHED THEN INSERT (customerId, current) VALUES (staged_updates.customerId, true)",
        (
            "customers",
            None,
            STAGED,
            "staged_updates",
        ),
        keys=("customerId = staged_updates.mergeKey",),
    ),
    Case(
        "MERGE WITH SCHEMA EVOLUTION INTO main_users_target target\nUSING new_users_source source\n"
        "ON target.id = source.id\nWHEN MATCHED AND source.status = 'update' THEN\n"
        "  UPDATE SET target.first_name = source.first_name\nWHEN MATCHED AND source.status = 'delete' THEN\n  DELETE\n"
        "WHEN NOT MATCHED AND source.status = 'new' THEN INSERT (id) VALUES (source.id);",
        ("main_users_target", "target", "new_users_source", "source"),
        keys=("id = source.id",),
        clauses="MU MD NI",
    ),
    Case(
        "MERGE INTO events t USING (SELECT /*+ BROADCAST(u) */ * FROM updates u) s ON t.id = s.id" + UPSERT,
        ("events", "t", "(SELECT /*+ BROADCAST(u) */ * FROM updates u)", "s"),
        keys=("id = s.id",),
    ),
    Case(
        "MERGE INTO events t USING (WITH u AS (SELECT 1 AS id) SELECT * FROM u) AS s ON t.id = s.id"
        " WHEN NOT MATCHED BY TARGET THEN INSERT *",
        ("events", "t", "(WITH u AS (SELECT 1 AS id) SELECT * FROM u)", "s"),
        keys=("id = s.id",),
        clauses="NI",
    ),
    Case(
        "MERGE INTO t USING (VALUES (1, 'a'), (2, 'b)')) v ON t.k = v.col1 WHEN MATCHED THEN DELETE",
        ("t", None, "(VALUES (1, 'a'), (2, 'b)'))", "v"),
        keys=("k = v.col1",),
        clauses="MD",
    ),
    # -- dbt
    Case(
        """-- back compat for old kwarg name


    merge
    into
        `demo`.`demo_schema`.`raw` as DBT_INTERNAL_DEST
    using
        `raw__dbt_tmp` as DBT_INTERNAL_SOURCE
    on
              DBT_INTERNAL_SOURCE.job_posting_id <=> DBT_INTERNAL_DEST.job_posting_id
    when matched
        then update set
            *
    when not matched
        then insert
            *
""",
        ("`demo`.`demo_schema`.`raw`", "DBT_INTERNAL_DEST", "`raw__dbt_tmp`", "DBT_INTERNAL_SOURCE"),
        keys=("job_posting_id <=> DBT_INTERNAL_SOURCE.job_posting_id",),
    ),
    Case(
        "merge into `default`.`seed_executions` as DBT_INTERNAL_DEST\n using `seed_executions__dbt_tmp` as"
        " DBT_INTERNAL_SOURCE\n      on FALSE\n\n      when matched then update set\n         * \n\n"
        "      when not matched then insert *\n",
        (
            "`default`.`seed_executions`",
            "DBT_INTERNAL_DEST",
            "`seed_executions__dbt_tmp`",
            "DBT_INTERNAL_SOURCE",
        ),
        target=("FALSE",),
    ),
    Case(
        "merge into thorchain_silver.fee_events as DBT_INTERNAL_DEST using fee_events__dbt_tmp as DBT_INTERNAL_SOURCE"
        " on (DBT_INTERNAL_DEST.block_time >= date_trunc('day', now() - interval '3' Day)) and ("
        "\n DBT_INTERNAL_SOURCE.block_month = DBT_INTERNAL_DEST.block_month\n ) and ("
        "\n DBT_INTERNAL_SOURCE.event_id = DBT_INTERNAL_DEST.event_id\n ) when matched then update set * "
        "when not matched then insert *",
        ("thorchain_silver.fee_events", "DBT_INTERNAL_DEST", "fee_events__dbt_tmp", "DBT_INTERNAL_SOURCE"),
        keys=("block_month = DBT_INTERNAL_SOURCE.block_month", "event_id = DBT_INTERNAL_SOURCE.event_id"),
        target=("block_time >= date_trunc('day', now() - interval '3' Day)",),
    ),
    Case(
        "merge into snap as DBT_INTERNAL_DEST using snap__dbt_tmp as DBT_INTERNAL_SOURCE\n"
        "    on DBT_INTERNAL_SOURCE.dbt_scd_id = DBT_INTERNAL_DEST.dbt_scd_id\n    when matched\n"
        "     and DBT_INTERNAL_DEST.dbt_valid_to is null\n"
        "     and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')\n        then update\n"
        "        set dbt_valid_to = DBT_INTERNAL_SOURCE.dbt_valid_to\n    when not matched\n"
        "     and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'\n        then insert *\n",
        ("snap", "DBT_INTERNAL_DEST", "snap__dbt_tmp", "DBT_INTERNAL_SOURCE"),
        keys=("dbt_scd_id = DBT_INTERNAL_SOURCE.dbt_scd_id",),
    ),
    # -- Iceberg and others
    Case(
        "MERGE INTO prod.nyc.taxis pt USING (SELECT * FROM staging.nyc.taxis) st ON pt.id = st.id WHEN NOT MATCHED"
        " THEN INSERT *",
        ("prod.nyc.taxis", "pt", "(SELECT * FROM staging.nyc.taxis)", "st"),
        keys=("id = st.id",),
        clauses="NI",
    ),
    Case(
        "MERGE INTO ice.db.tab target USING (SELECT * FROM source) ON target.col1 = col1" + UPSERT,
        ("ice.db.tab", "target", "(SELECT * FROM source)", None),
        unused=(("target.col1 = col1", Unused.AMBIGUOUS),),
    ),
    Case(
        "merge into glue_dev.nightly.epayment as target using (select * from deflate_table as deflate) as deflate on"
        " (cast(target._context_id_ as int) = cast(deflate._context_id_ as int) and cast(target.id as int) ="
        " cast(deflate.id as int) ) when matched then update set target.AMOUNT = cast(if(array_contains("
        "deflate.changed_cols, 'AMOUNT'), deflate.AMOUNT, target.AMOUNT) as decimal(12,2))",
        ("glue_dev.nightly.epayment", "target", "(select * from deflate_table as deflate)", "deflate"),
        unused=(
            ("cast(target._context_id_ as int) = cast(deflate._context_id_ as int)", Unused.CAST_OF_TARGET),
            ("cast(target.id as int) = cast(deflate.id as int)", Unused.CAST_OF_TARGET),
        ),
        clauses="MU",
    ),
    Case(
        "MERGE INTO sales.orders USING staging.orders ON sales.orders.k = staging.orders.k" + UPSERT,
        ("sales.orders", None, "staging.orders", None),
        keys=("k = staging.orders.k",),
    ),
    Case(
        "MERGE INTO sales.orders USING staging.orders ON orders.k = staging.orders.k" + UPSERT,
        ("sales.orders", None, "staging.orders", None),
        unused=(("orders.k = staging.orders.k", Unused.AMBIGUOUS),),
    ),
    Case(
        "MERGE INTO lake.sales.`orders.v2` USING news ON `orders.v2`.`order id` = news.`order id`" + UPSERT,
        ("lake.sales.`orders.v2`", None, "news", None),
        keys=("`order id` = news.`order id`",),
    ),
    Case(
        "MERGE INTO IceT AS T USING News AS S ON t.K = s.K AND T.day = '2024-01-01'" + UPSERT,
        ("IceT", "T", "News", "S"),
        keys=("K = s.K",),
        target=("day = '2024-01-01'",),
    ),
    # -- keys
    merged("s.k = t.k AND t.day = s.day", keys=("k = s.k", "day = s.day")),
    merged("((t.k) = (s.k))", keys=("k = s.k",)),
    merged("t.info.id = s.info.id", keys=("info.id = s.info.id",)),
    merged("t.k <=> s.k", keys=("k <=> s.k",)),
    merged("t.k IS NOT DISTINCT FROM s.k", keys=("k <=> s.k",)),
    merged("equal_null(s.k, t.k)", keys=("k <=> s.k",)),
    merged("t.k == s.k", keys=("k = s.k",)),
    merged("s.k  =  t.k -- the key\n  AND /* and */ t.j = s.j", keys=("k = s.k", "j = s.j")),
    merged("t.k = CAST(s.x AS INT)", keys=("k = CAST(s.x AS INT)",)),
    merged("t.k = upper(trim(s.name))", keys=("k = upper(trim(s.name))",)),
    merged("t.k = concat_ws('-', s.a, s.b)", keys=("k = concat_ws('-', s.a, s.b)",)),
    merged("t.k = s.tags[0]", keys=("k = s.tags[0]",)),
    merged("t.k = s.payload:order.id::bigint", keys=("k = s.payload:order.id::bigint",)),
    merged("t.day = to_date(s.ts) AND t.k = s.k", keys=("day = to_date(s.ts)", "k = s.k")),
    merged("t.k = CASE WHEN s.a > 0 THEN s.a END", keys=("k = CASE WHEN s.a > 0 THEN s.a END",)),
    merged("t.k = s.k OR (t.k IS NULL AND s.k IS NULL)", keys=("k <=> s.k",)),
    merged("(t.k IS NULL AND s.k IS NULL) OR s.k = t.k", keys=("k <=> s.k",)),
    merged("(t.k = s.k AND t.a = s.a) OR (t.k = s.k AND t.b = s.b)", keys=("k = s.k",)),
    merged("(t.k = s.k AND t.a = s.a) OR (s.k <=> t.k AND rank(1))", keys=("k <=> s.k",)),
    # -- conditions on one table
    merged(
        "t.a = s.a AND t.day = '2024-01-01' AND t.day >= current_date() - 3",
        keys=("a = s.a",),
        target=("day = '2024-01-01'", "day >= current_date() - 3"),
    ),
    merged("t.k = s.k AND t.day IN ('2024-01-01',\n'2024-01-02')", keys=("k = s.k",))._replace(
        target=("day IN ('2024-01-01', '2024-01-02')",)
    ),
    merged("t.k = s.k AND (t.a = 1 OR t.b = 2)", keys=("k = s.k",), target=("(a = 1 OR b = 2)",)),
    merged("t.a = 1 OR t.b = 2", target=("(a = 1 OR b = 2)",)),
    merged("t.k = s.k AND t.current", keys=("k = s.k",), target=("current",)),
    merged("t.k = s.k AND t.`end` IS NULL AND t.`a b` = 1", keys=("k = s.k",), target=("`end` IS NULL", "`a b` = 1")),
    merged("t.k = s.k AND t.tags[0] = 'x'", keys=("k = s.k",), target=("tags[0] = 'x'",)),
    merged("t.k = s.k AND 1 = 1", keys=("k = s.k",), target=("1 = 1",)),
    merged("t.k = s.k AND t.k BETWEEN 3 AND 9", keys=("k = s.k",), target=("k BETWEEN 3 AND 9",)),
    merged("t.k = s.k AND NOT s.deleted", keys=("k = s.k",), source=("NOT s.deleted",)),
    merged("t.day = s.day AND s.day > '2024-01-01'", keys=("day = s.day",), source=("s.day > '2024-01-01'",)),
    # -- unused
    merged("t.k = s.k OR t.j = s.j", unused=(("t.k = s.k OR t.j = s.j", Unused.DISJUNCTION),)),
    merged("t.k = s.k OR (t.k IS NULL AND s.j IS NULL)")._replace(
        unused=(("t.k = s.k OR (t.k IS NULL AND s.j IS NULL)", Unused.DISJUNCTION),)
    ),
    merged("t.k = s.k OR t.k IS NULL", unused=(("t.k = s.k OR t.k IS NULL", Unused.DISJUNCTION),)),
    merged("CAST(t.k AS STRING) = s.k", unused=(("CAST(t.k AS STRING) = s.k", Unused.CAST_OF_TARGET),)),
    merged("s.k = t.k::string", unused=(("s.k = t.k::string", Unused.CAST_OF_TARGET),)),
    merged("t.k + 1 = s.k", unused=(("t.k + 1 = s.k", Unused.EXPRESSION_OF_TARGET),)),
    merged("lower(t.k) = lower(s.k)", unused=(("lower(t.k) = lower(s.k)", Unused.EXPRESSION_OF_TARGET),)),
    merged("coalesce(t.k, 0) = coalesce(s.k, 0)")._replace(
        unused=(("coalesce(t.k, 0) = coalesce(s.k, 0)", Unused.EXPRESSION_OF_TARGET),)
    ),
    merged("t.k - s.k = 0", unused=(("t.k - s.k = 0", Unused.EXPRESSION_OF_TARGET),)),
    merged("t.k = s.k + t.j", unused=(("t.k = s.k + t.j", Unused.EXPRESSION_OF_TARGET),)),
    merged("t.k COLLATE UTF8_LCASE = s.k", unused=(("t.k COLLATE UTF8_LCASE = s.k", Unused.EXPRESSION_OF_TARGET),)),
    merged("t.k > s.k", unused=(("t.k > s.k", Unused.NOT_AN_EQUALITY),)),
    merged("t.k <> s.k", unused=(("t.k <> s.k", Unused.NOT_AN_EQUALITY),)),
    merged("NOT (t.k = s.k)", unused=(("NOT (t.k = s.k)", Unused.NOT_AN_EQUALITY),)),
    merged("NOT t.k <=> s.k", unused=(("NOT t.k <=> s.k", Unused.NOT_AN_EQUALITY),)),
    merged("t.k IS DISTINCT FROM s.k", unused=(("t.k IS DISTINCT FROM s.k", Unused.NOT_AN_EQUALITY),)),
    merged("t.ts BETWEEN s.a AND s.b AND t.k = s.k", keys=("k = s.k",))._replace(
        unused=(("t.ts BETWEEN s.a AND s.b", Unused.NOT_AN_EQUALITY),)
    ),
    merged("CASE WHEN t.k = s.k THEN true ELSE false END")._replace(
        unused=(("CASE WHEN t.k = s.k THEN true ELSE false END", Unused.NOT_AN_EQUALITY),)
    ),
    merged("t.k = s.k AND t.j IN (SELECT j FROM u)", keys=("k = s.k",))._replace(
        unused=(("t.j IN (SELECT j FROM u)", Unused.SUBQUERY),)
    ),
    merged("t.k = (SELECT max(k) FROM u WHERE u.j = s.j)")._replace(
        unused=(("t.k = (SELECT max(k) FROM u WHERE u.j = s.j)", Unused.SUBQUERY),)
    ),
    merged("t.k = s.k AND EXISTS (SELECT 1 FROM u)", keys=("k = s.k",))._replace(
        unused=(("EXISTS (SELECT 1 FROM u)", Unused.SUBQUERY),)
    ),
    merged("k = s.k", unused=(("k = s.k", Unused.AMBIGUOUS),)),
    merged("orders.k = s.k", unused=(("orders.k = s.k", Unused.AMBIGUOUS),)),
    merged("t.day = current_date", unused=(("t.day = current_date", Unused.AMBIGUOUS),)),
]


def check(merge, case):
    operator = {False: "=", True: "<=>"}
    keys = tuple(
        f"{'.'.join(f'`{it}`' if ' ' in it else it for it in key.target)} {operator[key.null_safe]} {key.source}"
        for key in merge.keys
    )
    assert (merge.target, merge.target_alias, merge.source, merge.source_alias) == case.tables
    assert keys == case.keys
    assert merge.target_conditions == case.target
    assert merge.source_conditions == case.source
    assert merge.unused == case.unused
    assert [(it.case, it.action) for it in merge.clauses] == [CODES[code] for code in case.clauses.split()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.sql.split())[:60])
def test_a_statement_has_these_parts(case):
    check(parse_merge(case.sql), case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.sql.split())[:60])
def test_a_condition_is_added_and_all_else_stays(case):
    merge = parse_merge(case.sql)
    before, after = case.sql[: merge.on_start], case.sql[merge.on_start + len(merge.on) :]
    longer = merge.with_condition(" k BETWEEN 3 AND 9 -- keys")
    assert longer == f"{before}({merge.on}) AND (k BETWEEN 3 AND 9){after}"
    assert [it.sql for it in parse_merge(longer).clauses] == [it.sql for it in merge.clauses]


WHOLE = f"MERGE INTO orders t USING news s ON t.k = s.k{UPSERT}"
# What is wrong, and words of its one line.
ERRORS = [
    ("", "the text has no statement; write one MERGE"),
    ("-- MERGE INTO a\n;", "the text has no statement"),
    ("SELECT 1", "statement, line 1 ('SELECT 1'): a statement that begins with MERGE INTO is expected here"),
    (f"USE lake;\n{WHOLE};\nSELECT 1", "has 3 statements (USE in line 1, MERGE in line 2, SELECT in line 3); keep one"),
    (f"{WHOLE};\n{WHOLE}", "has 2 statements (MERGE in line 1, MERGE in line 2)"),
    ("WITH s AS (SELECT 1 AS k) " + WHOLE, "put it in the source: USING (WITH ... SELECT ...) s"),
    ("MERGE orders t USING news s ON t.k = s.k", "('orders t USING news s ON t.k ='): INTO is expected here"),
    ("MERGE WITH SCHEMA INTO t USING s ON t.k = s.k", "EVOLUTION is expected here"),
    ("MERGE INTO t ON t.k = s.k", "statement, line 1 ('t.k = s.k'): USING is expected here"),
    ("MERGE INTO t", "statement, at its end: USING is expected here"),
    ("MERGE INTO IDENTIFIER(:t) USING s ON t.k = s.k", "write its name"),
    (
        "MERGE INTO t\nUSING range(10) s ON t.k = s.id",
        "line 2 ('(10) s ON t.k = s.id'): a table is expected here, not a",
    ),
    ("MERGE INTO t USING (s) ON t.k = s.k", "a query is expected in these brackets"),
    ("MERGE INTO t USING (SELECT 1 ON t.k = s.k", "this bracket is not closed"),
    ("MERGE INTO t USING s JOIN u ON t.k = s.k", "('u ON t.k = s.k'): ON is expected here; put a source other than"),
    ("MERGE INTO t USING s VERSION AS OF 3 ON t.k = s.k", "put a source other than a table in brackets"),
    ("MERGE INTO t USING (VALUES (1)) v(k) ON t.k = v.k", "takes no column names after an alias"),
    ("MERGE INTO t USING s ON WHEN MATCHED THEN DELETE", "('WHEN MATCHED THEN DELETE'): a condition is expected here"),
    ("MERGE INTO t USING s\nON t.k = s.k", "at its end: a clause WHEN [NOT] MATCHED ... THEN ... is expected here"),
    (
        "MERGE INTO t USING s\nON t.k s.k WHEN MATCHED THEN DELETE",
        "statement, line 2, after ON: predicate, character 5",
    ),
    ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHD THEN DELETE", "('MATCHD THEN DELETE'): MATCHED is expected here"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED DELETE", "('DELETE'): THEN is expected here"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN INSERT *", "WHEN MATCHED takes UPDATE SET * or DELETE"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN DELETE", "WHEN NOT MATCHED takes INSERT *"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED BY x THEN DELETE", "SOURCE or TARGET is expected"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *", "without a row of the source"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.k)", "INSERT takes * or columns and"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE t.a = 1", "SET is expected here"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE WHERE t.k = 1", "('WHERE t.k = 1'): a clause WHEN"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND THEN DELETE", "('THEN DELETE'): a condition is expected here"),
    ("MERGE INTO t USING s ON t.k = s.k /* WHEN MATCHED THEN DELETE", "the comment is not closed; write */"),
    (
        "MERGE INTO t USING s\nON t.k = 's.k WHEN MATCHED THEN DELETE",
        'statement, line 2 ("\'s.k WHEN MATCHED THEN DELETE")',
    ),
    (
        "MERGE INTO {{ this }} USING s ON t.k = s.k WHEN MATCHED THEN DELETE",
        "('{{ this }} USING s ON t.k = s.'): this looks like a placeholder",
    ),
]


@pytest.mark.parametrize(("sql", "message"), ERRORS, ids=[sql[-60:] for sql, _ in ERRORS])
def test_an_error_names_the_place_and_the_remedy(sql, message):
    with pytest.raises(PredicateSyntaxError) as error:
        parse_merge(sql)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# -- names without a qualifier

BOTH = {"target_columns": ["k", "day", "info"], "source_columns": ["id", "day", "x"]}


def parts(on, **columns):
    merge = parse_merge(f"MERGE INTO orders t USING (SELECT 1) s ON {on}{UPSERT}", **columns)
    keys = [(key.target, key.source) for key in merge.keys]
    return keys, merge.target_conditions, merge.source_conditions, [reason for _, reason in merge.unused]


@pytest.mark.parametrize(
    ("on", "columns", "expected"),
    [
        ("k = id", BOTH, ([(("k",), "s.id")], (), (), [])),
        ("K = ID", BOTH, ([(("K",), "s.ID")], (), (), [])),
        ("k = upper(x || s.id)", BOTH, ([(("k",), "upper(s.x || s.id)")], (), (), [])),
        ("k = x[0]", BOTH, ([(("k",), "s.x[0]")], (), (), [])),
        ("k = transform(s.x, id -> id + 1)[0]", BOTH, ([], (), (), [Unused.AMBIGUOUS])),
        ("k = transform(s.x, y -> y.id)[0]", BOTH, ([], (), (), [Unused.AMBIGUOUS])),
        ("info.id = id", BOTH, ([(("info", "id"), "s.id")], (), (), [])),
        ("k = 3 AND id = 3", BOTH, ([], ("k = 3",), ("s.id = 3",), [])),
        ("day = 3", BOTH, ([], (), (), [Unused.AMBIGUOUS])),
        ("t.day = day", BOTH, ([], (), (), [Unused.AMBIGUOUS])),
        ("t.day = current_date", BOTH, ([], ("day = current_date",), (), [])),
        ("k = id", {"target_columns": ["k"]}, ([(("k",), "s.id")], (), (), [])),
        ("k = id", {"source_columns": ["id"]}, ([(("k",), "s.id")], (), (), [])),
        ("k = current_date", {"target_columns": ["k"]}, ([], (), (), [Unused.AMBIGUOUS])),
        ("k = current_date", {"target_columns": ["k"], "source_columns": ["id"]}, ([], ("k = current_date",), (), [])),
        # The target lacks the column, so that Spark takes `t` for a struct of the source.
        ("s.k = t.id", {"target_columns": ["k"], "source_columns": ["k", "t"]}, ([], (), ("s.k = s.t.id",), [])),
    ],
)
def test_columns_say_whose_a_name_without_qualifier_is(on, columns, expected):
    assert parts(on, **columns) == expected


def test_a_name_of_a_source_without_alias_gets_no_qualifier():
    merge = parse_merge(f"MERGE INTO t USING (SELECT 1 AS id) ON k = id{UPSERT}", target_columns=["k"])
    assert [(key.target, key.source) for key in merge.keys] == [(("k",), "id")]


def test_a_long_condition_takes_no_deep_stack():
    nested = "t.a = s.a"
    for _ in range(2000):
        nested = f"(t.k = s.k AND ({nested} OR t.b = 1))"
    keys = parts(f"{nested} AND t.j IN ({', '.join(map(str, range(20_000)))})")[0]
    assert keys == [(("k",), "s.k")]


# -- composed statements


@pytest.mark.parametrize(
    ("target", "source", "on", "head"),
    [
        ("orders", "news", "orders.k = news.k", "INTO orders\nUSING news\nON orders.k = news.k"),
        ("lake.orders", "news", "t.k = s.k", "INTO lake.orders AS t\nUSING news AS s\nON t.k = s.k"),
        ("t", "s", "t.k = s.k", "INTO t\nUSING s\nON t.k = s.k"),
        ("orders a", "news AS b", "a.k = b.k", "INTO orders a\nUSING news AS b\nON a.k = b.k"),
        (
            "/a b/`c`",
            "s3://x/y",
            "t.k = s.k",
            "INTO delta.`/a b/``c``` AS t\nUSING delta.`s3://x/y` AS s\nON t.k = s.k",
        ),
        ("delta.`/a`", "(SELECT 1 AS k) n", "t.k = n.k", "INTO delta.`/a` AS t\nUSING (SELECT 1 AS k) n\nON t.k = n.k"),
        ("o", "SELECT 1 AS k -- one", "o.k = s.k", "INTO o\nUSING (SELECT 1 AS k) AS s\nON o.k = s.k"),
        ("o", "n", " o.k = n.k -- key", "INTO o\nUSING n\nON o.k = n.k"),
    ],
)
def test_a_statement_is_composed(target, source, on, head):
    merge = merge_statement(target, source, on, ["MATCHED DELETE"])
    assert merge.sql == f"MERGE {head}\nWHEN MATCHED THEN DELETE"
    assert len(merge.keys) == 1


def test_a_relative_path_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    merge = merge_statement("lake/orders", "news", "t.k = news.k", ["MATCHED DELETE"], schema_evolution=True)
    assert merge.has_schema_evolution
    assert table_location(merge.target) == f"{tmp_path}/lake/orders"


@pytest.mark.parametrize(
    ("clause", "whole"),
    [
        ("MATCHED UPDATE", "WHEN MATCHED THEN UPDATE SET *"),
        ("when matched update", "WHEN MATCHED THEN UPDATE SET *"),
        ("NOT MATCHED INSERT", "WHEN NOT MATCHED THEN INSERT *"),
        ("MATCHED DELETE", "WHEN MATCHED THEN DELETE"),
        ("NOT MATCHED BY SOURCE DELETE", "WHEN NOT MATCHED BY SOURCE THEN DELETE"),
        ("MATCHED AND s.deleted DELETE", "WHEN MATCHED AND s.deleted THEN DELETE"),
        ("MATCHED AND s.delete DELETE", "WHEN MATCHED AND s.delete THEN DELETE"),
        ("MATCHED AND s.x > t.x THEN UPDATE SET t.x = s.x", "WHEN MATCHED AND s.x > t.x THEN UPDATE SET t.x = s.x"),
        ("MATCHED UPDATE SET t.x = s.update", "WHEN MATCHED THEN UPDATE SET t.x = s.update"),
        ("NOT MATCHED INSERT (k) VALUES (s.k)", "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"),
        (
            "MATCHED AND CASE WHEN s.a THEN true END DELETE -- why",
            "WHEN MATCHED AND CASE WHEN s.a THEN true END THEN DELETE",
        ),
        ("WHEN MATCHED THEN UPDATE", "WHEN MATCHED THEN UPDATE SET *"),
    ],
)
def test_short_clauses_are_completed(clause, whole):
    (made,) = merge_statement("t", "s", "t.k = s.k", [clause]).clauses
    assert made.sql.upper() == whole.upper()


@pytest.mark.parametrize(
    "clause", ["MATCHED", "", "UPDATE", "NOT MATCHED BY SOURCE UPDATE", "MATCHED INSERT", "x; DELETE"]
)
def test_a_clause_that_is_none_is_refused(clause):
    with pytest.raises(PredicateSyntaxError):
        merge_statement("t", "s", "t.k = s.k", [clause])


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("delta.`/lake/orders`", "/lake/orders"),
        ("Delta.`s3://b/orders`", "s3://b/orders"),
        ("parquet.`/lake/orders`", "/lake/orders"),
        ("delta.orders", "delta.orders"),
        ("`lake`.`sales`.orders", "lake.sales.orders"),
        ("lake.`orders.v2`", "lake.`orders.v2`"),
        ("/lake/my orders", "/lake/my orders"),
    ],
)
def test_the_location_of_a_table(target, location):
    assert table_location(target) == location


@pytest.mark.parametrize(
    ("tables", "column"),
    [
        ("lake.orders USING news", "orders.k"),
        ("lake.orders o USING news", "o.k"),
        ("lake.orders USING stage.orders", "lake.orders.k"),
        ("delta.`/lake/orders` USING (SELECT 1)", "`/lake/orders`.k"),
    ],
)
def test_a_column_of_the_target_is_qualified(tables, column):
    assert parse_merge(f"MERGE INTO {tables} ON true WHEN MATCHED THEN DELETE").target_column(["k"]) == column


def test_clauses_keep_their_condition_and_text():
    merge = parse_merge(
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND CASE WHEN s.x THEN t.y END  THEN UPDATE SET "
        "a = CASE WHEN s.a THEN 1 END -- end\n WHEN NOT MATCHED AND (s.x) THEN INSERT *"
    )
    assert [(it.condition, it.sql) for it in merge.clauses] == [
        (
            "CASE WHEN s.x THEN t.y END",
            "WHEN MATCHED AND CASE WHEN s.x THEN t.y END  THEN UPDATE SET a = CASE WHEN s.a THEN 1 END",
        ),
        ("(s.x)", "WHEN NOT MATCHED AND (s.x) THEN INSERT *"),
    ]


@pytest.mark.parametrize(
    ("clauses", "condition"),
    [
        ("WHEN MATCHED AND t.a = 1 AND s.b = 2 THEN DELETE", "a = 1"),
        ("WHEN MATCHED AND t.a = 1 AND (t.b = 2 OR t.c) THEN DELETE", "a = 1 AND (b = 2 OR c)"),
        ("WHEN MATCHED AND t.a = 1 THEN DELETE WHEN MATCHED AND t.b THEN UPDATE SET *", "(a = 1 OR b)"),
        ("WHEN MATCHED AND t.a = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET *", None),
        ("WHEN MATCHED AND t.a = 1 THEN DELETE WHEN MATCHED AND s.b THEN UPDATE SET *", None),
        ("WHEN MATCHED AND t.a = 1 THEN DELETE WHEN NOT MATCHED THEN INSERT *", None),
        ("WHEN MATCHED AND t.a = 1 THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.a = 1 THEN DELETE", None),
        ("WHEN MATCHED AND t.a t.b THEN DELETE", None),
        ("WHEN NOT MATCHED AND s.a = 1 THEN INSERT *", None),
    ],
)
def test_matched_clauses_alone_restrict_the_target(clauses, condition):
    assert parse_merge(f"MERGE INTO t USING s ON t.k = s.k {clauses}").matched_condition == condition


# -- parts that are found are implied

LEAVES = [
    *("t.a = s.a", "s.b = t.b", "t.a IS NOT DISTINCT FROM s.b", "t.a = s.a + 1", "t.a + 1 = s.a", "t.a > s.b"),
    *("t.b IS NULL", "s.a IS NULL", "t.a IS NULL", "s.b IS NULL", "t.a = 1", "s.b IN (0, 2)", "t.b BETWEEN 0 AND 1"),
    *("coalesce(t.a, 0) = s.a", "c = 1", "d = c", "t.a = t.b", "c <> 0", "t.a = CASE WHEN s.a = 1 THEN s.b END"),
]
COLUMNS = {"target_columns": ["a", "b", "c"], "source_columns": ["a", "b", "d"]}


def random_condition(chance, depth=3):
    if depth == 0 or chance.random() < 0.25:
        return chance.choice(LEAVES)
    parts = [random_condition(chance, depth - 1) for _ in range(chance.choice([2, 2, 3]))]
    joined = chance.choice([" AND ", " AND ", " OR "]).join(parts)
    return f"NOT ({joined})" if chance.random() < 0.1 else f"({joined})"


def test_whatever_is_found_follows_from_the_condition():
    chance, database = random.Random(7), duckdb.connect()
    for table, columns in (("t", "abc"), ("s", "abd")):
        crossed = ", ".join(f"(VALUES (NULL), (0), (1), (2)) {name}({name})" for name in columns)
        database.execute(f"CREATE TABLE {table} AS SELECT *, row_number() OVER () AS row FROM {crossed}")
    keys = targets = 0
    for _ in range(400):
        on = random_condition(chance)
        merge = parse_merge(f"MERGE INTO t USING s ON {on}{UPSERT}", **COLUMNS)
        equal = [
            f"t.{key.target[0]} {'IS NOT DISTINCT FROM' if key.null_safe else '='} {key.source}" for key in merge.keys
        ]
        implied = " AND ".join([*equal, *merge.source_conditions, "true"])
        kept = " AND ".join([*merge.target_conditions, "true"])
        lost = database.execute(
            f"SELECT count(*) FROM t, s WHERE ({on}) AND"
            f" (NOT coalesce({implied}, false) OR t.row NOT IN (SELECT row FROM t WHERE {kept}))"
        ).fetchone()
        assert lost == (0,), on
        keys, targets = keys + len(equal), targets + len(merge.target_conditions)
    assert min(keys, targets) > 100


# -- Spark reads the same

# Statements that Spark's grammar takes and this package refuses.
STRICTER = ("SELECT 1", "WITH s AS", "MERGE INTO IDENTIFIER(:t)")


@pytest.mark.spark
def test_sparks_grammar_takes_the_same_statements(spark):
    parser = spark._jsparkSession.sessionState().sqlParser()

    def is_taken(sql):
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            parser.parsePlan(sql)
        except (PySparkException, Py4JJavaError):
            return False
        return True

    written = [case.sql for case in CASES]
    longer = [parse_merge(sql).with_condition("k IN (1, 2)") for sql in written]
    assert [sql for sql in [*written, *longer] if not is_taken(sql)] == []
    assert [sql for sql, _ in ERRORS if not sql.startswith(STRICTER) and is_taken(sql)] == []


NAMES = [
    *("k", "K", "t.k", "T.K", "orders.k", "s.k", "x", "s.x", "t.x", "day", "t.day", "s.day", "news.day"),
    *("info.id", "t.info.id", "s.info.id", "s.id", "s.s.id", "t.s.id", "t.t.k", "s.t.k", "t.j", "s.t.j", "t.t", "s.t"),
    *("gone", "t.gone", "info.gone", "current_date", "t.current_date", "`k`", "t.`k`", "`t.k`", "tags.a", "tags[0]"),
]


@pytest.mark.spark
@pytest.mark.parametrize("case_sensitive", [False, True])
def test_spark_finds_the_same_table_for_a_name(spark, case_sensitive):
    from pyspark.errors import AnalysisException

    views = {
        "orders": "1 AS k, 2 AS day, named_struct('id', 3) AS info, named_struct('id', 4) AS s, array(1) AS tags",
        "news": "1 AS x, 2 AS day, named_struct('k', 3, 'j', 3) AS t",
    }
    for name, columns in views.items():
        spark.sql(f"SELECT {columns}").createOrReplaceTempView(name)
    known = {"target_columns": ["k", "day", "info", "s", "tags"], "source_columns": ["x", "day", "t"]}
    compared = 0
    spark.conf.set("spark.sql.caseSensitive", case_sensitive)
    try:
        for name in NAMES:
            try:
                joined = spark.sql(f"SELECT 1 FROM orders t JOIN news s ON {name} IS NULL")
            except AnalysisException:
                continue  # a MERGE with this name fails
            compared += 1
            join = joined._jdf.queryExecution().analyzed().child()
            used = join.condition().get().references()
            sides = [used.subsetOf(side.outputSet()) for side in (join.left(), join.right())]
            merge = parse_merge(
                f"MERGE INTO orders t USING news s ON {name} IS NULL{UPSERT}", case_sensitive=case_sensitive, **known
            )
            found = [bool(merge.target_conditions), bool(merge.source_conditions)]
            assert found == ([True, False] if all(sides) else sides), name
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
        for name in views:
            spark.catalog.dropTempView(name)
    assert compared > 15
