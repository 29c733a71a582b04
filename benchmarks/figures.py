"""Keep the figures in README and docs equal to the newest results: `python -m benchmarks.figures [--write]`.

benchmarks/statements.py lists every phrase that states a speed or a quality, with the figure it states.
Without `--write` this prints what is wrong: a figure that is not the newest, a listed phrase that is in no
document, or a phrase that looks like a figure and is not listed. With `--write` it puts the newest
figures into the documents, and writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from benchmarks.results import Result, load_results
from benchmarks.statements import FIGURES, NO_FIGURES, STATEMENTS, TABLES, UNCHECKED

ROOT = Path(__file__).parents[1]
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
TABLE = re.compile(
    r"(?P<begin><!-- figures: (?P<name>[^\n]*) -->)\n.*?(?P<end><!-- end of figures -->)", re.DOTALL
)
NUMBER = r"\d(?:[\d.,]*\d)?"

_COUNT = (
    rf"(?:{NUMBER}|(?:a\s+)?(?:hundred|thousand)s?|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty)"
)
_TIME = r"(?:s|ms|µs|us|ns|min|seconds?|minutes?|milliseconds?|microseconds?)"
_QUALITY = r"(?:above|below|off|median|worst|errors?|faster|slower|better|worse|shorter|longer)"
# What a sentence about speed or quality looks like.
FIGURE = re.compile(
    "|".join(
        (
            rf"\b{_COUNT}\s+times\s+(?:as\s+(?:fast|slow|long|quick)|faster|slower|quicker|longer|shorter)\b",
            rf"\b{_COUNT}\s+\w+\s+(?:a|per)\s+second\b",
            rf"\b{NUMBER}\s?%\s+(?:\w+\s+){{0,3}}?{_QUALITY}\b",
            rf"\b(?:errors?|mean gap)\s+(?:[\w-]+\s+){{0,5}}?{NUMBER}\s?%",
            rf"\b(?:takes?|took|costs?|opens?|answers?|answered|planned)\s+(?:[\w-]+\s+){{0,4}}?"
            rf"{NUMBER}\s+{_TIME}\b",
            rf"\b(?:took|open|opens|answered|compiled|loaded)\s+(?:\w+\s+){{0,4}}?(?:a|{_COUNT})\s+{_TIME}\b",
        )
    ),
    re.IGNORECASE,
)


def documents() -> dict[Path, str]:
    """Return the documents whose figures are checked."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {path: path.read_text(encoding="utf-8") for path in paths if not _name(path).startswith(UNCHECKED)}


def problems() -> list[str]:
    """Return what is wrong with the figures in README and docs, a line each."""
    texts = documents()
    found = [
        f"benchmarks/statements.py: no document says {statement!r}"
        for statement in STATEMENTS
        if not any(_pattern(statement).search(text) for text in texts.values())
    ]
    results = load_results()
    for path, text in texts.items():
        found += [f"{_name(path)}: {line}" for line in _differences(text, rewritten(text, results))]
        found += [f"{_name(path)}: {line}" for line in unlisted(text)]
    return found


def write() -> list[str]:
    """Write docs/benchmarks.md and the newest figures in README and docs; return what is still wrong."""
    from benchmarks import page  # loads all benchmarks

    results = load_results()
    page.write(results)
    for path, text in documents().items():
        renewed = rewritten(text, results)
        if renewed != text:
            path.write_text(renewed, encoding="utf-8")
    return problems()


def rewritten(text: str, results: list[Result]) -> str:
    """Return a document with the newest figures."""
    for statement in STATEMENTS:
        names = PLACEHOLDER.findall(statement)
        for match in reversed(list(_pattern(statement).finditer(text))):
            for at in reversed(range(len(names))):
                start, end = match.span(at + 1)
                text = text[:start] + FIGURES[names[at]](results) + text[end:]
    return TABLE.sub(lambda match: _table(match, results), text)


def _table(match: re.Match[str], results: list[Result]) -> str:
    return "\n".join((match["begin"], "", *TABLES[match["name"]](results), "", match["end"]))


def unlisted(text: str) -> Iterator[str]:
    """Yield the phrases of a document that look like figures and are not listed."""
    prose = _prose(text)
    listed = [match.span() for each in (*STATEMENTS, *NO_FIGURES) for match in _pattern(each).finditer(text)]
    for match in FIGURE.finditer(prose):
        if not any(start < match.end() and match.start() < end for start, end in listed):
            line = prose[: match.start()].count("\n") + 1
            yield (
                f"line {line}: {' '.join(match[0].split())!r} is not listed: link to docs/benchmarks.md, "
                "or list the phrase in benchmarks/statements.py"
            )


@cache
def _pattern(statement: str) -> re.Pattern[str]:
    """Return what finds a listed phrase, wherever its lines are broken."""
    words = [re.escape(word) for word in PLACEHOLDER.sub("#", statement).split()]
    return re.compile(r"\s+".join(words).replace(re.escape("#"), f"({NUMBER})"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _prose(text: str) -> str:
    """Return a text of the same length without code, comments, links' targets and generated tables."""
    for code in (
        r"^```.*?^```$",
        TABLE.pattern,
        r"<!--.*?-->",
        r"`[^`\n]*`",
        r"\]\([^)\n]*\)",
    ):
        text = re.sub(
            code, lambda match: re.sub(r"[^\n]", "_", match[0]), text, flags=re.MULTILINE | re.DOTALL
        )
    return text


def _differences(text: str, renewed: str) -> Iterator[str]:
    pairs = zip(text.splitlines(), renewed.splitlines(), strict=False)
    for number, (old, new) in enumerate(pairs, start=1):
        if old != new:
            yield f"line {number} is not up to date; `python -m benchmarks.figures --write` writes: {new}"
            break


def main(arguments: Sequence[str] | None = None) -> int:
    """Check or write the figures; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figures",
        description="Check the figures in README and docs against the newest results.",
    )
    parser.add_argument("--write", action="store_true", help="Write the newest figures into the documents.")
    options = parser.parse_args(arguments)
    found = write() if options.write else problems()
    print("\n".join(found) if found else "all figures are those of the newest results")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
