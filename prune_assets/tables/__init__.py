"""Tables, whatever lists their files; all that is special to a format is in its package here, behind `Table`."""
