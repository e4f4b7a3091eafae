"""Finds Java and a Spark session, and asks the session what only it knows (`queries/`)."""
