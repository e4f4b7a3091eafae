"""Skip reports as data, text and picture."""
