"""The report: one HTML file with data, style and script inside, that asks no network for anything."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from typing import Any

from ringsched.reporting.assets import script, style

# What a browser would take for the end of the data, or of a line of script.
RISKY = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

# Nothing may be loaded from anywhere; of style and script only those whose digests the page names.
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="ringsched {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This report draws its pictures by JavaScript, which is switched off here.</noscript>
<main id="report"></main>
<script type="application/json" id="report-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page_of(data: dict[str, Any]) -> str:
    """Return the page of a report; the same data give the same bytes."""
    css, program = style(), script("report.js")
    policy = f"{NOTHING}; style-src '{_digest(css)}'; script-src '{_digest(program)}'"
    return PAGE.format(
        policy=policy,
        version=html.escape(data["version"]),
        title=html.escape(f"{data['name']} – ringsched"),
        style=css,
        data=embedded(data),
        script=program,
    )


def embedded(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a script element, whatever the names in it are.

    Examples
    --------
    >>> embedded({"name": "</script>"}).count("<")
    0
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in RISKY.items():
        text = text.replace(character, escaped)
    return text


def _digest(text: str) -> str:
    """Return what a Content-Security-Policy knows an inline element by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
