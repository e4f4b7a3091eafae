"""From a predicate in Spark SQL to the owned predicate tree; the only room that knows sqlglot."""

from prune_assets.sql.expressions_alone import import_expressions

import_expressions()
