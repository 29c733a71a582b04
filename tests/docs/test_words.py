"""The lint of words finds what it is for."""

import subprocess
import sys
from pathlib import Path

import pytest
from tools.words import ROOT, banned_phrases, findings, long_sentences, read_allowed

SENTENCE = "The plan " + "starts every job " * 8  # 26 words


@pytest.mark.parametrize(
    "text",
    [
        "It plans anew.",
        "It tries again and again.",
        "The time stands in a file.",
        "If it fails, it says so.",
        "Nobody waits.",
        "Whoever fits starts.",
        "Someone who waits.",
        "It waits for the others.",
        "Repeat it so often.",
        "A policy of one's own.",
        "A process of its own.",
        "It is not used at all.",
        "Each room of the house.",
        "the habit of a job",
        "It keeps books.",
        "a kick to the genes",
        "The user's wish.",
        "Mind the gap.",
        "It mends the file.",
        "The user wants to be told.",
        "laid at the door of a job",
        "It blames the job.",
        "The answer is no.",
        "What is to be written.",
        "There is none to be had.",
        "Write it to a folder.",
    ],
)
def test_a_banned_phrase_is_found(text: str) -> None:
    assert list(banned_phrases("a.md", text))


def test_a_phrase_is_found_across_lines_and_in_names() -> None:
    found = banned_phrases("a.py", "x = 1\n# what is told to the\n# others\ndef not_below_nobody(): ...\n")
    assert {(each.line, each.text) for each in found} >= {(2, "the others"), (4, "nobody")}


@pytest.mark.parametrize("text", ["We recommend it.", "mushrooms", "notebooks", "generate", "to reminder"])
def test_a_part_of_a_word_is_no_finding(text: str) -> None:
    assert not list(banned_phrases("a.md", text))


def test_a_finding_says_where_and_what_to_write() -> None:
    (found,) = banned_phrases("docs/a.md", "One.\nIt plans anew.\n")
    assert str(found) == "docs/a.md:2: anew -> again"


def test_a_long_sentence_is_found() -> None:
    (found,) = long_sentences("README.md", f"Short.\n\n{SENTENCE}.\n")
    assert found.line == 3
    assert "26 words, at most 25" in found.advice


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE.replace("job starts", "job. Starts", 1),
        f"```console\n{SENTENCE}\n```\n",
        f"| a | b |\n|---|---|\n| {SENTENCE} | b |\n",
        "- The plan starts.\n" * 20,
        f"See [the page]({'a ' * 30}) and `{'b ' * 30}`.",
    ],
)
def test_short_sentences_code_and_tables_are_no_findings(text: str) -> None:
    assert not list(long_sentences("README.md", text))


def test_sentences_are_checked_in_pages_for_new_users_only(tmp_path: Path) -> None:
    for name in ("README.md", "docs/tutorials/a.md", "docs/how-to/b.md", "docs/concepts/c.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SENTENCE)
    found = findings(tmp_path, tmp_path.rglob("*.md"), [])
    assert [each.path for each in found] == ["README.md", "docs/how-to/b.md", "docs/tutorials/a.md"]


def test_the_allow_list_excepts_one_phrase_in_one_file(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("Nobody plans anew.\n")
    found = findings(tmp_path, tmp_path.glob("*.md"), read_allowed("# why\n\na.md | anew | a quotation\n"))
    assert [(each.path, each.text) for each in found] == [
        ("a.md", "Nobody"),
        ("b.md", "Nobody"),
        ("b.md", "anew"),
    ]


@pytest.mark.parametrize("line", ["a.md | anew", "a.md | anew |", "anew"])
def test_an_exception_needs_a_reason(line: str) -> None:
    with pytest.raises(ValueError, match="line 1: write PATH"):
        read_allowed(line)


def test_the_command_exits_with_1_and_prints_all_findings(tmp_path: Path) -> None:
    """In a project for itself: a page in docs/ was seen by tests that ran beside this one."""
    for directory in ("tools", "docs"):
        (tmp_path / directory).mkdir()
    (tmp_path / "tools" / "words.py").write_text((ROOT / "tools" / "words.py").read_text())
    (tmp_path / "tools" / "words-allowed.txt").write_text("tools/words.py | * | the list itself\n")
    (tmp_path / "docs" / "page.md").write_text("Nobody plans anew.\n")
    command = [sys.executable, "tools/words.py", "docs"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.startswith("docs/page.md")]) == 2


def test_spelling_is_checked(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("A shedule.\n")
    command = [sys.executable, "-m", "codespell_lib", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "shedule ==> schedule" in done.stdout
