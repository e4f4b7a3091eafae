"""Tables written with a layout: staged, proven, committed, and finished where a write was cut off."""
