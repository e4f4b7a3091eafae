"""Write and rewrite Iceberg tables."""
