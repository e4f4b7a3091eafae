"""Tables, whatever lists their files: what plans, reads and checks need of a format is a module here."""
