"""The log, and what is taken out of every line before it is written."""


def report_bug(bug: BaseException) -> str:
    """Log an unexpected error with its trace; gives one line that names it by an error id."""
    return f"unexpected {type(bug).__name__}: {bug}"
