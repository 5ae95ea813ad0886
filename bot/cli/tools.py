"""`steward tools`: what the agent may call, and what each call can do at worst."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from bot.cli.exit_codes import DONE
from bot.cli.output import print_json, say, table
from bot.commands.tools import list_tools, tool_schemas
from bot.wiring import open_house

HEADER = ("tool", "kind", "private", "untrusted", "egress", "destructive", "then")
LEGEND = (
    "private: it reads what is yours; untrusted: it brings what others wrote; egress: whether data "
    "may leave, to a place the call does not choose (blind) or does (chosen); destructive: something "
    "may be lost; staged: the call waits in the outbox"
)
_YES = "yes"


def execute(args: argparse.Namespace) -> int:
    """Print them."""
    house = open_house()
    if args.schema:
        print_json(tool_schemas(house))
        return DONE
    tools = list_tools(house)
    if args.json:
        print_json(tools)
        return DONE
    print(table([_row(tool) for tool in tools], HEADER))
    if sys.stdout.isatty():
        say(LEGEND)
    return DONE


def _row(tool: Mapping[str, Any]) -> tuple[str, ...]:
    capabilities = tool["capabilities"]
    return (
        tool["name"],
        "reads" if tool["read_only"] else "acts",
        _YES if capabilities["private_data"] else "-",
        _YES if capabilities["untrusted_input"] else "-",
        capabilities["egress"],
        _YES if capabilities["destructive"] else "-",
        _then(tool),
    )


def _then(tool: Mapping[str, Any]) -> str:
    """What becomes of a call, or why there can be none."""
    if not tool["offered"]:
        return f"not offered: {tool['why_not']}"
    return "staged" if tool["routed"] else "runs"
