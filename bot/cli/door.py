"""The terminal as a door: what it shows before a yes, and how an answer is taken there.

Plain Enter is no, and so is the end of input.
"""

from collections.abc import Sequence

from bot.cli.asking import ask_line_meanwhile, is_yes
from bot.cli.output import bold, loud, plain, say
from outbox import options as choices
from outbox.approval import YES, Approval, ApprovalRequest, no
from outbox.visible import block, visible


class TerminalDoor:
    """outbox.approval.Door on a terminal where somebody sits."""

    present = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Show the whole call and ask; anything but a clear yes is a no with its reason."""
        say(loud(f"\n{plain(request.tool)} asks to run"))
        for reason in request.reasons:
            say(f"  {plain(reason)}")
        for name, value in request.shown:
            lines = block(value) if "\n" in value else (f"  {visible(value)}",)
            say(bold(f"{visible(name)}:") + ("\n" if len(lines) > 1 else "") + "\n".join(lines))
        line = await ask_line_meanwhile(f"Run {visible(request.tool)}? [y/N, or why not] ")
        if line is None:
            return no("the terminal was closed")
        if is_yes(line):
            return YES
        words = line.strip()
        return no("" if words.lower() in ("n", "no") else words)

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """The owner's answer as typed, or the option that was meant; None: not now."""
        say(bold("\nThe agent asks:"))
        say("\n".join(block(question)))
        for option in choices.listed(options):
            say(f"  {visible(option)}")
        line = await ask_line_meanwhile("Your answer (Enter: later): ")
        words = (line or "").strip()
        if not words:
            return None
        answer = choices.meant(words, options)
        say(f"answered: {plain(answer)}")
        return answer
