"""Floor 4: the loop, models, sessions, front ends and wiring."""
