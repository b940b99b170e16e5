#!/usr/bin/env python3
"""Prints "PASSED FAILED": the test cases in all test.xml files under a folder. Failed ones are named on standard error."""

import os
import sys
import xml.etree.ElementTree as ElementTree


def main():
    passed = failed = 0
    for folder, _, files in os.walk(sys.argv[1], followlinks=True):
        if "test.xml" not in files:
            continue
        path = os.path.join(folder, "test.xml")
        try:
            cases = list(ElementTree.parse(path).getroot().iter("testcase"))
        except ElementTree.ParseError:
            cases = None  # the program died while it wrote
        bad = [] if cases is None else [
            c for c in cases if any(child.tag in ("failure", "error") for child in c)]
        if cases is None or (not cases):
            failed += 1
            print("CI: no test case in", path, file=sys.stderr)
            continue
        skipped = [c for c in cases if c.get("status") == "notrun" or c.get("result") in ("skipped", "suppressed")]
        failed += len(bad)
        passed += len(cases) - len(bad) - len(skipped)
        for case in bad:
            print("CI: failed: %s.%s" % (case.get("classname"), case.get("name")), file=sys.stderr)
    print(passed, failed)


if __name__ == "__main__":
    main()
