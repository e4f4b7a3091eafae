"""What a plan skips and why, as data, text and picture."""
