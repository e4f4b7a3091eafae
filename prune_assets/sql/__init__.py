"""Lower Spark SQL predicates to trees that are evaluated on metadata.

A text passes each subpackage once, in this order; a subpackage imports only from earlier ones: `types` (Spark's types
and values), `syntax` (text to tree), `functions` (functions of one value and their preimages), `binding` (names,
constants and operands, typed), `simplify` (one rule per file), `lowering` (conditions to leaves). Other packages import
`lower`, `evaluate_on_values` and `render`.
"""
