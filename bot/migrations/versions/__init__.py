"""The numbered steps of the schema."""
