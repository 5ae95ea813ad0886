"""`steward tools`: what the agent may call, and what each call can do at worst."""

import argparse

from bot.cli.exit_codes import DONE
from bot.cli.output import print_json, table
from bot.commands.tools import list_tools, tool_schemas
from bot.wiring import open_house


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="capabilities as JSON")
    form.add_argument("--schema", action="store_true", help="what a model is told, as JSON")


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
    rows = [
        (
            tool["name"],
            "reads" if tool["read_only"] else "acts",
            "private" if tool["capabilities"]["private_data"] else "",
            "untrusted" if tool["capabilities"]["untrusted_input"] else "",
            tool["capabilities"]["egress"],
            "destructive" if tool["capabilities"]["destructive"] else "",
            "staged" if tool["routed"] else ("" if tool["offered"] else "not offered"),
        )
        for tool in tools
    ]
    header = ("tool", "", "private", "untrusted", "egress", "destructive", "then")
    print(table(rows, header))
    return DONE
