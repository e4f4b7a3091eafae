"""What a Parquet file says about itself, and what that proves about a predicate."""
