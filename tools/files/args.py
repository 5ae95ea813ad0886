"""The arguments of the file tools."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

PathArgument = Annotated[
    str, Field(description="Path from the workspace root, e.g. notes/today.md")
]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReadArgs(_Arguments):
    """What `fs_read` takes."""

    path: Annotated[
        str,
        Field(
            description="Path from the workspace root, e.g. notes/today.md, or the whole path of "
            "a saved result as a cut result names it"
        ),
    ]
    offset: Annotated[int, Field(ge=1, description="First line to show, e.g. 201")] = 1
    limit: Annotated[
        int | None,
        Field(ge=1, description="Lines to show at most, e.g. 100; all that fit if left out"),
    ] = None
    column: Annotated[
        int, Field(ge=1, description="First character of the first line, e.g. 40001 in a long line")
    ] = 1
    line_numbers: Annotated[
        bool, Field(description="Put each line's number before it, e.g. true to talk about lines")
    ] = False


class ListArgs(_Arguments):
    """What `fs_list` takes."""

    path: Annotated[
        str, Field(description='Folder from the workspace root, e.g. notes; "." is the root itself')
    ] = "."
    depth: Annotated[
        int,
        Field(ge=1, le=16, description="Levels of folders to open, e.g. 2 for folders in it too"),
    ] = 1


class GrepArgs(_Arguments):
    """What `grep` takes."""

    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="Python regular expression for one line, e.g. invoice\\s+\\d+",
        ),
    ]
    path: Annotated[
        str, Field(description='File or folder to search, e.g. notes; "." is the whole workspace')
    ] = "."
    glob: Annotated[
        str | None,
        Field(
            description="Only files whose name matches, e.g. *.md; with a slash, whose path from "
            "the folder searched does, e.g. 2026/*.md"
        ),
    ] = None
    context: Annotated[
        int, Field(ge=0, le=20, description="Lines to show before and after each match, e.g. 2")
    ] = 0
    ignore_case: Annotated[
        bool, Field(description="Treat a and A alike, e.g. true to find a name in any spelling")
    ] = False
    literal: Annotated[
        bool, Field(description="Take the pattern as plain text, e.g. true to find a.b(c)")
    ] = False
    limit: Annotated[
        int, Field(ge=1, le=1000, description="Matching lines to show at most, e.g. 50")
    ] = 100


class WriteArgs(_Arguments):
    """What `fs_write` takes."""

    path: PathArgument
    content: Annotated[
        str, Field(description='The whole new content of the file, e.g. "# Today\\n- call Ada\\n"')
    ]


class EditArgs(_Arguments):
    """What `fs_edit` takes."""

    path: PathArgument
    old: Annotated[
        str,
        Field(
            min_length=1,
            description='Text that stands in the file exactly once, e.g. "- call Ada\\n"',
        ),
    ]
    new: Annotated[
        str, Field(description='What stands there afterwards, e.g. "- called Ada\\n"; may be empty')
    ]
