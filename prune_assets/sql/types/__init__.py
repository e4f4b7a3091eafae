"""Types and values of Spark SQL: numbers, calendars, time zones, sets of ordinals; independent of syntax."""
