"""Raw files in the formats of their publishers, read into graphs; nothing that lies in them is run."""
