"""The tool `ask_user`: asks whoever is present, and leaves a question where nobody is."""

import asyncio
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from sqlmodel import Session

from outbox import questions
from outbox.approval import Door
from outbox.questions import Asked
from tools.contract import Tool, ToolContext
from tools.ids import NewId
from tools.result import ToolResult
from tools.taint import Taint

EMPTY = "the question is empty, so nobody was asked; write the question, or go on without it"
NOT_STORED = (
    "the question could not be stored, so nobody will see it. Go on without an answer, and say in "
    "your answer what you would have asked"
)


class AskArgs(BaseModel):
    """The arguments of `ask_user`."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(
        max_length=4000,
        description="One question that stands on its own, e.g. 'Move the dentist to 14 May?'",
    )
    options: list[str] = Field(
        default_factory=list,
        max_length=10,
        description="Likely answers to choose from, e.g. ['yes', 'no, keep it']; others are taken",
    )


class QuestionService:
    """What `ask_user` works with in one run (`needs["questions"]`).

    A question that finds nobody is kept here under its id until the gate parks it together with
    the call, in one transaction.
    """

    def __init__(self, door: Door, new_id: NewId) -> None:
        self._door = door
        self._new_id = new_id
        self._one_at_a_time = asyncio.Lock()
        self._unstored: dict[str, Asked] = {}

    async def ask(self, args: AskArgs, ctx: ToolContext) -> ToolResult:
        """The owner's answer verbatim, or a result that is parked under a new question's id."""
        question = args.question.strip()
        options = tuple(dict.fromkeys(filter(None, map(str.strip, args.options))))
        if not question:
            return ToolResult.error(EMPTY)
        if self._door.present:
            async with self._one_at_a_time:
                text = await self._door.ask(question, options)
            if text is not None and text.strip():
                return questions.answered(text, question, options)
        asked = Asked(
            id=self._new_id(ctx.now()),
            question=question,
            options=options,
            session_id=ctx.session_id,
            agent=ctx.agent,
            producer=ctx.producer,
            surface=self._door.name,
            call_id=ctx.call_id,
            workspace=str(ctx.jail.root),
        )
        self._unstored[asked.id] = asked
        return ToolResult(parked=asked.id)

    def park(
        self, session: Session, question_id: str, *, turn_key: str, taint: Taint, now: datetime
    ) -> None:
        """Store the question that `ask` gave this id, in the transaction that parks its call."""
        asked = self._unstored[question_id]
        questions.park(session, asked, turn_key=turn_key, taint=taint, now=now)


class AskUser(Tool):
    """Handler of `ask_user`."""

    async def call(self, args: AskArgs, ctx: ToolContext) -> ToolResult:
        """Ask."""
        return await ctx.need("questions", QuestionService).ask(args, ctx)
