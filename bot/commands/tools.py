"""The tools as a person asks for them: what each may do, told the same with and without a model."""

from typing import Any

from bot.wiring import AgentChoice, House
from tools.registry import Entry, matches_any


def list_tools(house: House, *, agent: str | None = None) -> list[dict[str, Any]]:
    """Every tool with its capabilities, whether its calls are staged, and whether it is offered.

    `why_not` says in a few words why a tool is not offered to this agent; None where it is.
    """
    chosen = house.agent(agent)
    offered = house.offered(chosen)
    settings = house.outbox_settings
    return [
        {
            "name": entry.spec.name,
            "source": entry.spec.source,
            "read_only": entry.spec.read_only,
            "capabilities": {
                "private_data": entry.spec.capabilities.private_data,
                "untrusted_input": entry.spec.capabilities.untrusted_input,
                "egress": entry.spec.capabilities.egress.value,
                "destructive": entry.spec.capabilities.destructive,
            },
            "routed": settings.routes(entry.spec),
            "offered": entry.spec.name in offered,
            "why_not": None if entry.spec.name in offered else _why_not(house, chosen, entry),
        }
        for entry in house.registry
    ]


def _why_not(house: House, agent: AgentChoice, entry: Entry) -> str:
    name = entry.spec.name
    if matches_any(name, house.settings.config.tools.disabled):
        return "disabled"
    if not matches_any(name, agent.tools):
        return f"not for {agent.name}"
    return house.lacking(entry) or "not while acting"


def tool_schemas(house: House) -> list[dict[str, Any]]:
    """What a model is told of each tool: name, description and argument schema."""
    return [
        {
            "name": entry.spec.name,
            "description": entry.spec.description,
            "parameters": entry.schema,
        }
        for entry in house.registry
    ]
