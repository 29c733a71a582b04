"""Configuration of the documentation site: `make docs` builds it, with warnings as errors.

The pages are plain Markdown that is readable without a build. Three things are added while they are read:
the navigation below, the help text of every command, and the docstrings of every public name.
"""

import inspect
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import shorten
from types import ModuleType
from typing import Any

import click
from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import ringsched
from ringsched.cli.command import WIDTH
from ringsched.cli.main import ringsched as command_line

project = "ringsched"
author = "The ringsched developers"
project_copyright = f"2026, {author}"
version = release = ringsched.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["pictures", "paper/*.csv"]
myst_heading_anchors = 4  # links to `page.md#a-heading`, with the anchors that GitHub makes

smartquotes_action = "De"  # dashes and ellipses; the apostrophe of '22 became an opening quote

default_role = "code"  # docstrings write `name`
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
python_maximum_signature_line_length = 88

copybutton_prompt_text = "$ "  # copies the commands of a console block, without what they print
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = f"ringsched {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_favicon = "../src/ringsched/web/assets/icon.svg"
html_search_scorer = str(Path(__file__).parent / "search.js")

# Every page is here: one that is not is an error.
NAVIGATION = {
    "Start": ["getting-started/installation", "getting-started/first-plan"],
    "Tutorials": [
        "tutorials/your-own-cluster",
        "tutorials/why-is-my-job-slow",
        "tutorials/report",
        "tutorials/lab",
        "tutorials/slurm",
        "tutorials/traces",
        "tutorials/notebook",
    ],
    "How-to guides": [
        "how-to/describe-a-pytorch-job",
        "how-to/profile-a-pytorch-job",
        "how-to/constrain-jobs",
        "how-to/deploy-on-slurm",
        "how-to/size-a-cluster",
        "how-to/import-a-trace",
        "how-to/import-a-topology",
        "how-to/choose-a-contention-model",
        "how-to/add-a-contention-model",
        "how-to/compare-policies-fairly",
        "how-to/write-a-policy",
        "how-to/shell-completion",
    ],
    "Concepts": [
        "concepts/model",
        "concepts/neighbours",
        "concepts/policies",
        "concepts/search",
        "concepts/bounds",
        "concepts/exact",
        "concepts/ilp",
        "concepts/online",
        "concepts/comparing",
        "concepts/blame",
        "concepts/whatif",
        "concepts/workloads",
        "concepts/ring",
        "limitations",
    ],
    "Evidence": ["benchmarks", "calibration", "paper"],
    "Reference": [
        "reference/scenario",
        "reference/plan",
        "reference/commands",
        "reference/help",
        "reference/python",
        "reference/api",
        "reference/http",
        "reference/slurm",
        "reference/traces",
    ],
    "Help": ["faq", "troubleshooting", "glossary"],
    "Project": ["architecture", "contributing", "decisions/README", "changelog"],
}
HELP_WIDTH = 88  # characters of a code block, without scrolling
DECISIONS = "decisions/README"


def navigation() -> str:
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{chr(10).join(pages)}\n```\n"
        for caption, pages in NAVIGATION.items()
    )


def contexts_below(context: click.Context) -> Iterator[click.Context]:
    """Yield a context for a command and, if it is a group, for all below it, in the order of the help."""
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            child = context.command.get_command(context, name)
            assert child is not None
            yield from contexts_below(click.Context(child, context, name))


def help_of_every_command() -> str:
    """Return the help as a terminal of `HELP_WIDTH` columns shows it."""
    settings = {**command_line.context_settings, "terminal_width": min(HELP_WIDTH, WIDTH)}
    root = click.Context(command_line, info_name="ringsched", **settings)
    return "".join(
        f"\n## `{context.command_path}`\n\n```text\n{context.get_help()}\n```\n"
        for context in contexts_below(root)
    )


# Types in public signatures that are reached through their packages.
OTHER_TYPES = [
    "ringsched.analysis.compare.compare.Comparison",
    "ringsched.analysis.explain.ledger.Ledger",
    "ringsched.analysis.metrics.Metrics",
    "ringsched.analysis.whatif.changes.Change",
    "ringsched.analysis.whatif.new_job.Answer",
    "ringsched.analysis.whatif.variants.WhatIf",
    "ringsched.importing.trace.ImportedTrace",
    "ringsched.model.calibration.Calibration",
    "ringsched.model.placement.Placement",
    "ringsched.model.plan.Bound",
    "ringsched.model.plan.Certificate",
    "ringsched.model.plan.PlannedJob",
    "ringsched.policies.custom.CustomPolicy",
    "ringsched.policies.custom.PolicyFile",
    "ringsched.verify.verdict.Verdict",
    "ringsched.workloads.workload.Arrivals",
    "ringsched.workloads.workload.DrawnServers",
]


def docstring_of_every_public_name() -> str:
    functions, classes = [], []
    for name in ringsched.__all__:
        value = getattr(ringsched, name)
        if inspect.isclass(value):
            value.__module__ = "ringsched"  # the name to import it by, here and in links from signatures
            classes.append(f".. autoclass:: ringsched.{name}\n   :members:\n")
        elif inspect.isfunction(value) or isinstance(value, ModuleType):
            functions.append(f".. autofunction:: ringsched.{name}\n")
    others = [f".. autoclass:: {name}\n   :members:\n" for name in OTHER_TYPES]
    return "".join(
        f"\n## {title}\n\n```{{eval-rst}}\n{chr(10).join(entries)}```\n"
        for title, entries in (("Functions", functions), ("Classes", classes), ("Other types", others))
    )


def readable_signature(
    _app: Sphinx,
    _what: str,
    _name: str,
    _object: object,
    _options: object,
    given: str | None,
    result: str | None,
) -> tuple[str | None, str | None]:
    """Return a signature that Sphinx can parse: a default that is made at each call is shown as dots."""
    return given and re.sub(r"<(?:[^<>]|<\w+>)*>", "...", given), result


ADDED = {
    "index": navigation,
    "reference/help": help_of_every_command,
    "reference/api": docstring_of_every_public_name,
    DECISIONS: lambda: "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n",
}


def add_to_page(_app: Sphinx, name: str, source: list[str]) -> None:
    if name in ADDED:
        source[0] += ADDED[name]()


LONGEST_DESCRIPTION = 160  # characters that search engines show


def add_description(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Describe a page by its first paragraph."""
    first = None if doctree is None else next(iter(doctree.findall(nodes.paragraph)), None)
    if first is not None:
        text = shorten(first.astext(), LONGEST_DESCRIPTION, placeholder=" …")
        context["metatags"] += f'<meta name="description" content="{escape(text)}">'


def setup(app: Sphinx) -> None:
    """Connect the additions, which may change while the files do not, and show CSV as it is."""
    app.connect("html-page-context", add_description)
    app.connect("source-read", add_to_page)
    app.connect("autodoc-process-signature", readable_signature)
    app.connect("env-get-outdated", lambda *_: list(ADDED))
    app.add_lexer("csv", TextLexer)
