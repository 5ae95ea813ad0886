"""`python -m bot` is `steward`."""

from bot.cli.main import entry

if __name__ == "__main__":
    entry()
