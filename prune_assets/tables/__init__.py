"""Tables of any format. `Table` is the common interface; each format implements it in its own package."""
