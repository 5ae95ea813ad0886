"""The todo tool: one short list for each session."""
