"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the step."""
    op.create_table(
        "cause",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("producer", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("for_process", sa.String(), nullable=True),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.String(length=32), nullable=True),
        sa.Column("not_before", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("claimed_at", sa.String(length=32), nullable=True),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("cause", schema=None) as batch_op:
        batch_op.create_index("cause_by_session", ["session_id", "status"], unique=False)
        batch_op.create_index("cause_by_status", ["status", "id"], unique=False)

    op.create_table(
        "draft",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("definition_hash", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("args_before", sa.Text(), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("producer", sa.String(), nullable=False),
        sa.Column("call_id", sa.String(), nullable=False),
        sa.Column("root", sa.String(), nullable=False),
        sa.Column("taint", sa.Text(), nullable=True),
        sa.Column("marks", sa.Text(), nullable=False),
        sa.Column("replying_to", sa.Text(), nullable=True),
        sa.Column("delivery_key", sa.String(), nullable=False),
        sa.Column("thread_key", sa.String(), nullable=True),
        sa.Column("loopback_only", sa.Boolean(), nullable=False),
        sa.Column("owner_typed", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("updated_at", sa.String(length=32), nullable=False),
        sa.Column("decided_at", sa.String(length=32), nullable=True),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("decided_via", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("superseded_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("draft", schema=None) as batch_op:
        batch_op.create_index("draft_by_session", ["session_id", "id"], unique=False)
        batch_op.create_index("draft_by_status", ["status", "id"], unique=False)

    op.create_table(
        "draft_attempt",
        sa.Column("draft_id", sa.String(length=32), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("delivery_key", sa.String(), nullable=False),
        sa.Column("process", sa.String(), nullable=False),
        sa.Column("started_at", sa.String(length=32), nullable=False),
        sa.Column("deadline_at", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("verified_at", sa.String(length=32), nullable=True),
        sa.Column("verify_tries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("draft_id", "n"),
    )
    op.create_table(
        "event",
        sa.Column("session_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("taint", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("session_id", "seq"),
    )
    op.create_table(
        "file_record",
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("whole_root", sa.Boolean(), nullable=False),
        sa.Column("untrusted", sa.Boolean(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("path"),
    )
    op.create_table(
        "meta",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "question",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("producer", sa.String(), nullable=False),
        sa.Column("surface", sa.String(), nullable=False),
        sa.Column("call_id", sa.String(), nullable=False),
        sa.Column("turn_key", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("taint", sa.Text(), nullable=True),
        sa.Column("call_closed", sa.Boolean(), nullable=False),
        sa.Column("asked_at", sa.String(length=32), nullable=False),
        sa.Column("answered_at", sa.String(length=32), nullable=True),
        sa.Column("answered_by", sa.String(), nullable=True),
        sa.Column("answered_via", sa.String(), nullable=True),
        sa.Column("answer", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("question", schema=None) as batch_op:
        batch_op.create_index("question_by_session", ["session_id", "id"], unique=False)
        batch_op.create_index("question_by_status", ["status", "id"], unique=False)

    op.create_table(
        "released_to",
        sa.Column("identifier", sa.String(), nullable=False),
        sa.Column("draft_id", sa.String(length=32), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("identifier", "draft_id"),
    )
    op.create_table(
        "session",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("producer", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("system", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
