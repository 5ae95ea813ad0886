"""Floor 1: what a tool is, and every tool."""
