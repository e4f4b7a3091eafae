"""Spark SQL predicates as trees that metadata can answer.

A text passes each room once, in this order; a room imports from those before it alone:
`types` (Spark's types and values), `syntax` (text to tree), `functions` (functions of one value and their preimages),
`binding` (names, constants and operands, typed), `simplify` (one rule a file), `lowering` (conditions to leaves).
Other rooms import `lower`, `evaluate_on_values` and `render`.
"""
