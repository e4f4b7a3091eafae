"""Skip reports: the data that a plan skips and the reasons, as data, text and picture."""
