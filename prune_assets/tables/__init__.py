"""Tables of any format.

`Table` is the common interface. Each format implements it in its own package here.
"""
