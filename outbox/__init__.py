"""Floor 2: the one gate every tool call passes, and what waits for the owner."""
