"""Floor 3: what makes an agent run."""
