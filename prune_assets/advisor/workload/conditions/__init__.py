"""Translate conditions of Spark's plans, whose constants have no quotes, back into SQL. Ambiguous text is refused."""
