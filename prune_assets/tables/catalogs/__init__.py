"""Tables named in catalogs. `resolve` selects the catalog of a name; each catalog has its own module."""
