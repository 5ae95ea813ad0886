"""Whatever is done to a draft in whatever order, it moves by the table and goes out at most once."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from makers.outbox import OWNER, SHAPE, World, keep_note, now
from outbox.attempts import all_attempts
from outbox.drafts import expire, reject
from outbox.edit import Edit, Editor, key_of_same_shape
from outbox.errors import NotAllowed, Stale
from outbox.recovery import Finding, Reconciled, Verifier, reconcile
from outbox.tables import DRAFT_MOVES, AttemptOutcome, DraftStatus


def reachable(status):
    """Every state that one act, which may be two moves, leads to."""
    one = DRAFT_MOVES[status]
    return {status, *one, *(after for each in one for after in DRAFT_MOVES[each])}


class DraftMachine(RuleBasedStateMachine):
    """One draft, one owner with several surfaces, and a destination that misbehaves."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name))
        self.draft = self.world.put()
        self.status = self.draft.status
        self.revision = 1
        self.delivered_lies = 0

    def teardown(self):
        if hasattr(self, "world"):
            self.world.store.close()
            self.folder.cleanup()

    def stored(self):
        return self.world.draft(self.draft.id)

    @rule(fault=st.sampled_from(["", "refuse", "lose", "break", "bug", "absent"]))
    def the_destination_changes(self, fault):
        self.world.server.fault = fault

    @rule(behind=st.sampled_from([0, 0, 0, 1]))
    def the_owner_approves(self, behind):
        before = self.stored()
        sent_before = len(self.world.server.messages())
        try:
            asyncio.run(
                self.world.releaser.approve(
                    self.draft.id, revision=before.revision - behind, decider=OWNER
                )
            )
        except (Stale, NotAllowed):
            assert before.status is not DraftStatus.PENDING or behind
            assert len(self.world.server.messages()) == sent_before

    @rule(body=st.sampled_from(["one", "two", "three"]))
    def the_owner_edits(self, body):
        before = self.stored()
        editor = Editor(
            store=self.world.store,
            judge=self.world.judge,
            fresh_key=lambda key: key_of_same_shape(key, f"r{before.revision + 1}"),
            now=now,
        )
        edit = Edit(draft_id=self.draft.id, args={**before.args, "body": body}, typed=True)
        try:
            after = editor.edit(edit, SHAPE)
        except (Stale, NotAllowed):
            assert before.status is not DraftStatus.PENDING
        else:
            assert before.status is DraftStatus.PENDING
            assert after.revision == before.revision + (body != before.args["body"])

    @rule()
    def the_owner_rejects(self):
        before = self.stored()
        with self.world.store.effect() as session:
            try:
                reject(session, self.draft.id, decider=OWNER, reason="no", now=now())
            except (Stale, NotAllowed):
                assert before.status is not DraftStatus.PENDING
            else:
                assert before.status is DraftStatus.PENDING

    @rule(outcome=st.sampled_from(Reconciled))
    def the_owner_reconciles(self, outcome):
        before = self.stored()
        finding = Finding(outcome=outcome, evidence="looked", decider=OWNER)
        arrived = before.delivery_key in self.world.server.taken()
        with self.world.store.effect() as session:
            try:
                reconcile(session, self.draft.id, finding, shape=SHAPE, now=now())
            except NotAllowed:
                assert before.status is not DraftStatus.UNCERTAIN
            else:
                self.delivered_lies += arrived and outcome is Reconciled.NOT_DELIVERED

    @rule()
    def steward_verifies(self):
        before = self.stored()
        verifier = Verifier(store=self.world.store, desk=self.world.desk, note=keep_note, now=now)
        verifier.settle()
        known = asyncio.run(verifier.verify(only_due=False))
        assert len(known) <= (before.status is DraftStatus.UNCERTAIN)

    @rule(days=st.sampled_from([1, -1]))
    def time_passes(self, days):
        with self.world.store.effect() as session:
            expire(session, now=now(), expire_days=days)

    @invariant()
    def it_moved_by_the_table(self):
        if not hasattr(self, "draft"):
            return
        after = self.stored()
        assert after.status in reachable(self.status)
        assert after.status is not DraftStatus.SENDING, "nothing is left in flight"
        assert after.revision >= self.revision
        assert after.args_before == self.draft.args_before
        self.status, self.revision = after.status, after.revision

    @invariant()
    def it_went_out_at_most_once(self):
        """The owner may say of a message that arrived that it did not: that alone allows another."""
        if hasattr(self, "draft"):
            assert len(self.world.server.messages()) <= 1 + self.delivered_lies

    @invariant()
    def what_is_called_sent_went_out(self):
        if not hasattr(self, "draft"):
            return
        after = self.stored()
        with self.world.store.read() as session:
            attempts = all_attempts(session, self.draft.id)
        assert all(attempt.outcome is not AttemptOutcome.OPEN for attempt in attempts)
        sent = [attempt for attempt in attempts if attempt.outcome is AttemptOutcome.SENT]
        assert bool(sent) == (after.status is DraftStatus.SENT)


DraftMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestDraftStates = DraftMachine.TestCase
