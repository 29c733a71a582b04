"""The style and the script of all pictures, as a page needs them.

The modules are plain ES modules, which a web server can hand out as they are. A file that stands alone has no
place to import from, so for it they are joined: each once, after those it imports, without `import` and `export`.
Names at their top level are therefore unique over all modules; a test holds that.
"""

from __future__ import annotations

import re
from importlib.resources import files

IMPORT = re.compile(r"^import\s*\{[^}]*\}\s*from\s*\"\./([\w-]+\.js)\";\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


def style() -> str:
    """Return the style sheet."""
    return asset("report.css")


def script(entry: str) -> str:
    """Return one script that does what a module and all it imports do."""
    joined = "\n".join(EXPORT.sub("", IMPORT.sub("", asset(name))) for name in in_order(entry))
    return f'(() => {{\n"use strict";\n{joined}\n}})();'


def in_order(entry: str) -> list[str]:
    """Return a module and those it needs, each after what it imports."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for needed in IMPORT.findall(asset(name)):
                visit(needed)
            order.append(name)

    visit(entry)
    return order


def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
