"""The schema's history, one numbered step a file, and the way to apply it."""
