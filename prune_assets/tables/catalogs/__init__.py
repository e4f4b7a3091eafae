"""Tables by the names that catalogs give them: `resolve` asks the one that a name belongs to, a module each."""
