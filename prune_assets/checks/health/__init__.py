"""Health of a table under any layout: files, statistics, the Delta log."""
