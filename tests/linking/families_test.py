#!/usr/bin/env python3
"""Compares which families come along with some with what families.txt allows: families_test.py families.txt QUERIED..."""
import pathlib
import re
import sys


def main() -> int:
    allowed = {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        if line and not line.startswith("#"):
            family, _, brings = line.partition(":")
            allowed[family] = brings.split()
    found = {}
    for queried in map(pathlib.Path, sys.argv[2:]):
        labels = queried.read_text().split()
        found[queried.name.removesuffix("_brings")] = sorted(re.fullmatch(r".*//aten/ops/(\w+):implementation", label).group(1) for label in labels)
    failed = found.keys() != allowed.keys()
    if failed:
        print(f"FAIL: asked for {sorted(found)}, allowed are {sorted(allowed)}")
    for family, brings in found.items():
        if brings != allowed.get(family):
            print(f"FAIL: {family} brings {' '.join(brings)}, allowed is {' '.join(allowed.get(family, []))}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
