"""Tables named in catalogs.

`resolve` selects the catalog of a name. Each catalog has its own module.
"""
