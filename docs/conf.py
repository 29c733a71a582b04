"""Configuration of the documentation site: `make docs` builds it, with warnings as errors.

The pages are plain Markdown that is readable without a build. Three things are added while they are read:
the navigation below, the help text of every command, and the docstrings of every public name.
"""

import inspect
from collections.abc import Iterator
from types import ModuleType

import click
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import ringsched
from ringsched.cli.main import ringsched as command_line

project = "ringsched"
author = "The ringsched developers"
project_copyright = f"2026, {author}"
version = release = ringsched.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["pictures", "paper/*.csv"]
myst_heading_anchors = 4  # links to `page.md#a-heading`, with the anchors that GitHub makes

default_role = "code"  # docstrings write `name`
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
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
html_show_search_summary = False  # excerpts are fetched, which browsers do not allow from a file

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
        "how-to/deploy-on-slurm",
        "how-to/size-a-cluster",
        "how-to/import-a-trace",
        "how-to/import-a-topology",
        "how-to/choose-a-contention-model",
        "how-to/compare-policies-fairly",
        "how-to/write-a-policy",
        "how-to/shell-completion",
    ],
    "Concepts": [
        "concepts/model",
        "concepts/contention-models",
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


def commands_below(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """Yield a context for every command that does something itself, in the order of the help."""
    if not isinstance(command, click.Group):
        yield context
        return
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        yield from commands_below(child, click.Context(child, context, name, terminal_width=HELP_WIDTH))


def help_of_every_command() -> str:
    root = click.Context(command_line, info_name="ringsched", terminal_width=HELP_WIDTH)
    return "".join(
        f"\n## `{context.command_path}`\n\n```text\n{context.get_help()}\n```\n"
        for context in commands_below(command_line, root)
    )


def docstring_of_every_public_name() -> str:
    functions, classes = [], []
    for name in ringsched.__all__:
        value = getattr(ringsched, name)
        if inspect.isclass(value):
            value.__module__ = "ringsched"  # the name to import it by, here and in links from signatures
            classes.append(f".. autoclass:: ringsched.{name}\n   :members:\n")
        elif inspect.isfunction(value) or isinstance(value, ModuleType):
            functions.append(f".. autofunction:: ringsched.{name}\n")
    return "".join(
        f"\n## {title}\n\n```{{eval-rst}}\n{chr(10).join(entries)}```\n"
        for title, entries in (("Functions", functions), ("Classes", classes))
    )


ADDED = {
    "index": navigation,
    "reference/help": help_of_every_command,
    "reference/api": docstring_of_every_public_name,
    DECISIONS: lambda: "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n",
}


def add_to_page(_app: Sphinx, name: str, source: list[str]) -> None:
    if name in ADDED:
        source[0] += ADDED[name]()


def setup(app: Sphinx) -> None:
    """Connect the additions, which may change while the files do not, and show CSV as it is."""
    app.connect("source-read", add_to_page)
    app.connect("env-get-outdated", lambda *_: list(ADDED))
    app.add_lexer("csv", TextLexer)
