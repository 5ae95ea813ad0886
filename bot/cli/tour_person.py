"""The person at the terminal, as the tour talks to them."""

from bot.cli.asking import YES_WORDS, ask_line
from bot.cli.output import bold, dim, prose

NO_WORDS = ("", "n", "no")


class Person:
    """bot.tour.script.Person on this terminal. After the end of input nobody is there any more."""

    def __init__(self, *, present: bool, silent: bool) -> None:
        self.present = present
        self._silent = silent
        self._has_spoken = False

    def say(self, text: str) -> None:
        """A paragraph, unless only JSON is wanted."""
        self._say(prose(text))

    def headline(self, text: str) -> None:
        """A paragraph that stands out."""
        self._say(bold(prose(text)))

    def wants(self, question: str) -> bool:
        """A clear yes; plain Enter is no, and anything else is asked again."""
        while True:
            word = self._line(f"\n{prose(f'{question} [y/N]')} ").strip().lower()
            if word in YES_WORDS:
                return True
            if word in NO_WORDS:
                return False
            self.say("Please type y or n; plain Enter is n.")

    def pause(self) -> None:
        """Enter goes on."""
        self._line(dim("(Enter) "))

    def type_in(self, prompt: str) -> str:
        """One line."""
        return self._line(f"\n{prose(prompt)} ").strip()

    def _say(self, shown: str) -> None:
        if self._silent:
            return
        print(f"\n{shown}" if self._has_spoken else shown, flush=True)
        self._has_spoken = True

    def _line(self, prompt: str) -> str:
        if not self.present:
            return ""
        line = ask_line(prompt)
        if line is None:
            self.present = False
        return line or ""
