"""What defs.yaml defines."""
