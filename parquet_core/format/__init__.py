"""What the bytes of a Parquet file say, by the specification and before anything of it is believed."""
