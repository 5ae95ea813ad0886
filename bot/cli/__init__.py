"""The terminal door: parses words, calls one command, prints what came back."""
