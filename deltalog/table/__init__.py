"""Table definition in a log: table features, schema, properties, and checks of file schemas.

Imports `log`.
"""
