"""MERGE statements that read only the files that the source can match."""
