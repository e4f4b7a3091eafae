-- Web events, made up. DuckDB writes the rows in this order, 20,000 to a row group.
{{ config(location='target/events.parquet', options={'row_group_size': 20000}) }}

select i * 7919 % 5000 as user_id, date '2024-01-01' + cast(i % 30 as integer) as day, i / 100 as amount
from range(200000) as numbers(i)
order by user_id, day
