"""The file tools: read, list, search, write and edit inside the workspace."""
