"""Read what lies in a directory, a table, a URL or an index: the only code that opens files of runs."""
