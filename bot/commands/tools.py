"""The tools as a person asks for them: what each may do, told the same with and without a model."""

from typing import Any

from bot.wiring import House


def list_tools(house: House, *, agent: str | None = None) -> list[dict[str, Any]]:
    """Every tool with its capabilities, whether its calls are staged, and whether it is offered."""
    offered = house.offered(house.agent(agent))
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
        }
        for entry in house.registry
    ]


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
