"""Write and rewrite Iceberg tables: layout as table properties, conditions of rewrites, checks of snapshots."""
