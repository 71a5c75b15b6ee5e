"""What has been measured: names of everything in the store, one writer, three readers, the results table."""
