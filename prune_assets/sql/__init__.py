"""From a predicate in Spark SQL to the owned predicate tree; the only room that knows sqlglot, by `sqlglot_nodes`."""
