"""The metadata of all files of a table: columnar, read on demand, kept in memory and on disk."""
