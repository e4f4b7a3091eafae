"""What a log says of its table: table features, schema, properties, and whether files fit the schema.

Imports `log`.
"""
