"""Record what the present code says: `python -m tests.frozen.record`.

Only to be run anew when plans are meant to change. With a number it prints what is said of that scenario
instead, of all cases or of those whose name begins as given, and writes nothing:
`python -m tests.frozen.record 17 plan sjf-bco`. With `only` it records only the cases of all scenarios whose
name begins as given, and keeps the others: `python -m tests.frozen.record only plan exact`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from tests.frozen import adapter
from tests.frozen.cases import texts_of
from tests.frozen.records import Texts, rewrite, write
from tests.frozen.scenarios import NUM_SCENARIOS, scenario_content


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["only"]:
        print(f"{rewrite(_again(' '.join(arguments[1:])))} digests differ")
    elif arguments:
        _show(int(arguments[0]), " ".join(arguments[1:]))
    else:
        num_scenarios, num_cases = write(_all())
        print(f"{num_scenarios} scenarios, {num_cases} digests")


def _all() -> Iterator[tuple[int, Texts]]:
    for number in range(NUM_SCENARIOS):
        if number % 100 == 0:
            print(f"{number} of {NUM_SCENARIOS}", file=sys.stderr)
        yield number, dict(texts_of(number))


def _again(beginning: str) -> Iterator[tuple[int, str, Texts]]:
    without = frozenset(adapter.POLICIES) - {beginning.split()[-1]}
    for number in range(NUM_SCENARIOS):
        texts = {}
        for name, text in texts_of(number, without=without):
            if name.startswith(beginning):
                texts[name] = text
            elif texts:
                break  # cases of a kind follow each other
        yield number, beginning, texts


def _show(number: int, beginning: str) -> None:
    print(json.dumps(scenario_content(number), indent=1))
    for name, text in texts_of(number):
        if name.startswith(beginning):
            print(f"--- {name}\n{text}", end="")


if __name__ == "__main__":
    main(sys.argv[1:])
