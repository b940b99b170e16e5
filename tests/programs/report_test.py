#!/usr/bin/env python3
"""A program's report names at least so many groups, and at most so many operators that are in none: report_test.py REPORT GROUPS OTHERS."""

import sys

path, least, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
section, groups, refused = "", [], []
with open(path, encoding="utf-8") as file:
    for line in file:
        if not line.startswith(" "):
            section = line.strip()
        elif section == "groups" and line.startswith("  group"):
            groups.append(line.strip())
        elif section == "not in groups":
            refused.append(line.strip())
if len(groups) < least or len(refused) > most:
    sys.exit("%s: %d groups, expected %d and more; not in groups: %s" % (path, len(groups), least, refused))
print("%d groups, %d of several operators" % (len(groups), sum("," in group for group in groups)))
