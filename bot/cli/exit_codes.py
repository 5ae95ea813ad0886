"""Pure. The exit codes of every command."""

DONE, ERROR, USAGE, REFUSED, NO_ANSWER, PARKED = range(6)
INTERRUPTED = 130
