"""Aggregates, window functions and generators, which WHERE allows only inside a subquery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.errors import PredicateTypeError
from prune_assets.sql.syntax.nodes import Call, OpaqueNode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prune_assets.sql.syntax.parsed import ParsedPredicate

_AGGREGATES = """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop
    covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
    kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure median min min_by mode
    percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept
    regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance
"""
_WINDOW_FUNCTIONS = "counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number"
_GENERATORS = "explode explode_outer inline inline_outer posexplode posexplode_outer stack"
NON_SCALAR: Mapping[str, str] = {
    **dict.fromkeys(_AGGREGATES.split(), "an aggregate"),
    **dict.fromkeys(_WINDOW_FUNCTIONS.split(), "a window function"),
    **dict.fromkeys(_GENERATORS.split(), "a generator of rows"),
}


def refuse_non_scalar(parsed: ParsedPredicate, is_builtin: Callable[[str], bool] | None) -> None:
    """Raise PredicateTypeError if a predicate calls a non-scalar function.

    `is_builtin`: returns whether a name refers to Spark's own function. None if every name does.
    """
    if not any(token.text.lower() in NON_SCALAR for token in parsed.tokens):
        return
    for node in parsed.tree.walk():
        name = node.name if isinstance(node, Call) else node.call if isinstance(node, OpaqueNode) else ""
        if name in NON_SCALAR and (is_builtin is None or is_builtin(name)):
            raise PredicateTypeError(
                f"predicate: {name}() is {NON_SCALAR[name]}, which WHERE does not allow; compute it first"
            )
