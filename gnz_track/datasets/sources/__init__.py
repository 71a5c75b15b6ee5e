"""Where raw files come from: mirrors, package indexes, addresses; and a remote for what is frozen. No torch here."""
