"""Run cases and print the findings by cause: `python -m workload.survey [part of an id] ...`.

If the first argument is a number N, one of every N cases is run.
"""

from __future__ import annotations

import random
import sys
import time

from tests.fuzz.planner.session import own_session

from .cases import all_cases
from .judging import judged
from .tables import own_ground


def main(*parts):
    every = int(parts[0]) if parts and parts[0].isdigit() else 1
    names = parts[1:] if every > 1 else parts
    cases = [case for case in all_cases() if all(part in case.id for part in names)][::every]
    # In random order, so that the first findings come from all tables.
    random.Random(1).shuffle(cases)
    with own_session() as spark, own_ground(spark) as ground:
        start = time.monotonic()
        for number, case in enumerate(cases):
            found = judged(ground, case)
            for one in found.findings:
                print(case.id, "|", one.check, "|", one.detail, flush=True)
            if found.refused:
                print(case.id, "| REFUSED |", found.refused, flush=True)
            if number % 50 == 49:
                print(f"# {number + 1} of {len(cases)}, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
