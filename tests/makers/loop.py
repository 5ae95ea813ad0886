"""Makers for the loop: a conversation on a real transcript, a scripted model, one go."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from bot.conversation import Conversation, replay
from bot.limits import Limits
from bot.loop import LoopParts, Steering, run
from bot.models.contract import Usage
from bot.outcome import RunOutcome
from bot.tables import Event, EventKind
from bot.transcript import lines
from fakes.scripted_model import Says, ScriptedModel
from makers.gate import SESSION, Bench
from outbox.gate import CallOutcome, Gate
from outbox.journal import Origin, Span
from tools.contract import ToolCall
from tools.taint import CLEAN

ROOMY = Limits(turns=20)


@dataclass
class Watcher:
    """An observer that remembers."""

    texts: list[str] = field(default_factory=list)
    outcomes: list[CallOutcome] = field(default_factory=list)

    def asked(self) -> None:
        """Nothing to keep."""

    def text(self, delta: str) -> None:
        """Keep it."""
        self.texts.append(delta)

    def calls(self, calls: Sequence[ToolCall]) -> None:
        """Nothing to keep."""

    def outcome(self, outcome: CallOutcome) -> None:
        """Keep it."""
        self.outcomes.append(outcome)


@dataclass
class Going:
    """One conversation at a bench, gone through the loop as often as a test likes."""

    bench: Bench
    model: ScriptedModel
    limits: Limits = ROOMY
    steering: list[Steering] = field(default_factory=list)
    watcher: Watcher = field(default_factory=Watcher)
    price: Decimal | None = Decimal(0)
    clock: list[float] = field(default_factory=lambda: [0.0])

    def take_steering(self) -> list[Steering]:
        """Everything that arrived, once."""
        taken, self.steering = self.steering, []
        return taken

    def conversation(self) -> Conversation:
        """The session as the database holds it now."""
        found = Conversation(
            session_id=SESSION, agent="assistant", producer="run", system="Be brief."
        )
        replay(found, self.lines())
        return found

    def lines(self) -> Sequence[Event]:
        """The transcript."""
        with self.bench.store.read() as session:
            return lines(session, SESSION)

    def kinds(self) -> list[EventKind]:
        """What the transcript's lines are."""
        return [line.kind for line in self.lines()]

    def prompt(self, text: str) -> None:
        """The owner's words go on the transcript."""
        journal = self.bench.journal
        with journal.record() as session:
            data = {"text": text, "spans": [{"origin": Origin.OWNER, "text": text}]}
            journal.write(session, EventKind.PROMPT, data, CLEAN)

    async def go(self, prompt: str | None = "Hello?") -> RunOutcome:
        """One run of the loop on the session as it stands in the database."""
        if prompt is not None:
            self.prompt(prompt)
        parts = LoopParts(
            model=self.model,
            schemas=(),
            gate=Gate(self.bench.parts),
            journal=self.bench.journal,
            limits=self.limits,
            observer=self.watcher,
            take_steering=self.take_steering,
            price=self._price,
            redact=lambda text: (text.replace("SECRET", "[gone]"), text.count("SECRET")),
            clock=lambda: self.clock.pop(0) if len(self.clock) > 1 else self.clock[0],
        )
        return await run(self.conversation(), parts)

    def _price(self, usage: Usage) -> Decimal | None:
        return self.price


def going(bench: Bench, *script: Says, **changes: object) -> Going:
    """A conversation whose model plays this script."""
    return Going(bench=bench, model=ScriptedModel(script), **changes)  # type: ignore[arg-type]


def owner_says(text: str) -> Steering:
    """Words of the owner that arrive during a run."""
    return Steering(text=text, spans=(Span(seq=0, origin=Origin.OWNER, text=text),), taint=CLEAN)
