"""Check the words of the project: banned phrases, and long sentences in pages for new users.

    python tools/words.py [FILE or DIRECTORY ...]

The phrases are checked in the README, the docs, the examples and the source, names and strings included.
An underscore ends a word, so `not_below_nobody` is found; `recommend` is not found by `mend`.
Sentences are checked in the README, the tutorials and the how-to guides.
`tools/words-allowed.txt` lists the exceptions.
Exit status: 0 if nothing was found, 1 if something was, 2 if the allow-list is invalid.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tools" / "words-allowed.txt"
MAX_WORDS = 25

# A regular expression of whole words, and what to write instead. A space matches a line break too.
PHRASES = {
    "anew": "again",
    "again and again": "repeatedly",
    "stands|stood|stand (?:in|on|at|by|for|here|together|beside|behind|before|below|above)": "is recorded",
    "says? so|said so": "reports it",
    "nobody": "no job, no user",
    "somebody": "a user, a job",
    "whoever": "any job that, the user who",
    "someone who": "a user who",
    "the others": "the other jobs",
    "so often": "N times",
    "of (?:one's|its|their) own": "custom, separate",
    "at all": "(leave it out)",
    "houses?|rooms?": "package, module, space",
    "habits?": "placement mode",
    "(?:keeps?|the|of|double|two) books": "accounts",
    "kick(?:s|ed)?": "perturbation",
    "genes?": "solution",
    "wish(?:es|ed)?": "request",
    "minds?": "check, notice",
    "mend(?:s|ed|ing)?": "fix",
    "be told|is told|are told": "be notified, receives",
    "(?:lays?|laid) at the door": "attribute to",
    "blames": "attributes to",
    "the answer is no": "negative result",
    "(?:is|are|was|were) (?:none )?to be": "will be, must be, cannot be",
    "folders?": "directory",
}
CHECKED = ("*.md", "docs/**/*.md", "examples/**/*", "src/**/*", "tools/*")
SUFFIXES = {".css", ".html", ".js", ".md", ".py", ".toml"}
FOR_NEW_USERS = ("README.md", "docs/index.md", "docs/tutorials/*", "docs/how-to/*")

# In a paragraph of several lines, a comment sign may be between two words.
_GAP = r"(?:\s+(?:(?:#|//|\*)[ \t]*)?|_)"
_PATTERNS = [
    (re.compile(rf"(?<![^\W_])(?:{phrase.replace(' ', _GAP)})(?![^\W_])", re.IGNORECASE), advice)
    for phrase, advice in PHRASES.items()
]
_NOT_PROSE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1|<!--.*?-->|^---\n.*?^---$", re.MULTILINE | re.DOTALL)
_NEW_PARAGRAPH = re.compile(r"^\s*(?:[-*+>] |\d+\. |#|\||!|:::|=== )")
_SENTENCE_END = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[^a-z\s])")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|Eq|Sec|No)\.")


class Finding(NamedTuple):
    """A phrase or a sentence that should be rewritten."""

    path: str
    line: int
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text} -> {self.advice}"


def banned_phrases(path: str, text: str) -> Iterator[Finding]:
    """Yield the banned phrases of a text."""
    for pattern, advice in _PATTERNS:
        for match in pattern.finditer(text):
            found = re.sub(_GAP, " ", match.group())
            yield Finding(path, text.count("\n", 0, match.start()) + 1, found, advice)


def long_sentences(path: str, text: str) -> Iterator[Finding]:
    """Yield the sentences of a Markdown page that have too many words."""
    prose = _NOT_PROSE.sub(lambda match: "\n" * match.group().count("\n"), text)
    for line, paragraph in _paragraphs(prose):
        for sentence in _SENTENCE_END.split(_ABBREVIATION.sub(r"\1", _plain(paragraph))):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MAX_WORDS:
                opening = " ".join(words[:8])
                advice = f"split it: {len(words)} words, at most {MAX_WORDS}"
                yield Finding(path, line, f'"{opening} ..."', advice)


def _paragraphs(prose: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs and list items with their first line; tables and indented code are left out."""
    lines: list[str] = []
    begins = 1
    for number, line in enumerate([*prose.split("\n"), ""], start=1):
        if not line.strip() or _NEW_PARAGRAPH.match(line):
            if lines:
                yield begins, " ".join(lines)
            lines = []
        if not line.strip() or line.lstrip().startswith("|") or (not lines and line.startswith("    ")):
            continue
        if not lines:
            begins = number
        lines.append(line.strip())


def _plain(paragraph: str) -> str:
    """Return the words a reader sees: a code span counts as one word, a link as its text."""
    without_code = re.sub(r"`[^`]*`", "code", paragraph)
    without_links = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", without_code)
    return re.sub(r"^(?:[-*+>#]+|\d+\.) ", "", re.sub(r"<[^>]*>", "", without_links))


def read_allowed(text: str) -> list[tuple[str, str]]:
    """Return the exceptions of an allow-list: a path pattern, and a part of the finding's text.

    Raises
    ------
    ValueError
        A line is not `PATH | TEXT | REASON`.
    """
    allowed = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"line {number}: write PATH | TEXT | REASON")
        allowed.append((parts[0], parts[1].casefold()))
    return allowed


def findings(root: Path, paths: Iterable[Path], allowed: list[tuple[str, str]]) -> list[Finding]:
    """Return what should be rewritten in these files, by file and line."""
    found: list[Finding] = []
    for path in sorted(set(paths)):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        found.extend(banned_phrases(name, text))
        if any(fnmatch(name, pattern) for pattern in FOR_NEW_USERS):
            found.extend(long_sentences(name, text))
    return [each for each in sorted(found) if not any(_is_allowed(each, *one) for one in allowed)]


def _is_allowed(finding: Finding, pattern: str, text: str) -> bool:
    return fnmatch(finding.path, pattern) and text in finding.text.casefold()


def checked_files(root: Path) -> Iterator[Path]:
    """Yield the files whose words are checked."""
    this = {"words.py", "words-allowed.txt"}  # they quote what they ban
    for pattern in CHECKED:
        for path in root.glob(pattern):
            if path.suffix in SUFFIXES and path.is_file() and path.name not in this:
                yield path


def main(arguments: list[str]) -> int:
    """Print the findings; return the exit status."""
    try:
        allowed = read_allowed(ALLOWED.read_text(encoding="utf-8"))
    except ValueError as error:
        print(f"{ALLOWED.name}: {error}", file=sys.stderr)
        return 2
    chosen = [Path(name).resolve() for name in arguments] or [ROOT]
    inside = [path for path in checked_files(ROOT) if any(path.is_relative_to(each) for each in chosen)]
    paths = inside + [path for path in chosen if path.is_file()]
    found = findings(ROOT, paths, allowed)
    for each in found:
        print(each)
    if found:
        print(f"{len(found)} findings; exceptions belong in tools/{ALLOWED.name}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
