"""The style and the script of all pictures, as a page needs them.

The modules are plain ES modules, which a web server can serve unchanged. A single HTML file cannot import
modules, so for it they are joined into one script, each in a separate function, after those it imports.
"""

from __future__ import annotations

import re
from importlib.resources import files

IMPORT = re.compile(r"^import (\{[^}]*\}) from \"\./(\w+\.js)\";$", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:function|const) (\w+))", re.MULTILINE)


def style() -> str:
    """Return the style sheet."""
    return asset("report.css")


def script(entry: str) -> str:
    """Return one script that does what a module and all it imports do.

    Examples
    --------
    >>> script("report.js").count("modules['dom.js'] = ")
    1
    """
    parts = [_as_function(name) for name in in_order(entry)]
    return "\n".join(["(() => {", '"use strict";', "const modules = {};", *parts, "})();"])


def in_order(entry: str) -> list[str]:
    """Return a module and those it needs, each after what it imports."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for _, needed in IMPORT.findall(asset(name)):
                visit(needed)
            order.append(name)

    visit(entry)
    return order


def asset(name: str) -> str:
    """Return the text of a file in this directory."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _as_function(name: str) -> str:
    """Return a module as a function that is called once; what it exports is what it returns."""
    text = asset(name)
    exports = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub("", IMPORT.sub(r"const \1 = modules['\2'];", text))
    return f"modules['{name}'] = (() => {{\n{body}return {{ {exports} }};\n}})();"
