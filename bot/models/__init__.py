"""Models: the vocabulary of a turn, and one adapter for each kind of server."""
