"""Types and values of Spark SQL: numbers, calendars and time zones, and sets of ordinals. Knows no syntax."""
