"""Find Java, and find or start Spark sessions.

The package `queries/` has a session analyze schemas, names and conditions.
"""
