"""Run by Alembic: applies the steps on the connection it was handed."""

from alembic import context
from sqlmodel import SQLModel

import bot.tables
import outbox.tables
import triggers.tables

_OWNERS = (bot.tables, outbox.tables, triggers.tables)  # importing them fills the metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    render_item=context.config.attributes.get("render_item"),
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
