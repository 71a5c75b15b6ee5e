"""Store of what has been measured: names of everything in it, one writer, three readers, the results table."""
