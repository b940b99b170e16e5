#!/usr/bin/env python3
"""Two files have the same text: same_text_test.py CHECKED_IN GENERATED."""

import sys

checked_in, generated = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
if checked_in != generated:
    sys.exit("%s is not what is generated; docs/BUILD.bazel says how to make it again" % sys.argv[1])
