"""Decide which statistics of a file are trusted, and decode them."""
