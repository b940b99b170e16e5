#!/usr/bin/env python3
"""Two texts are the same: same_text_test.py CHECKED_IN GENERATED, the second a file or, without an ending, a program that prints it."""

import os
import subprocess
import sys

checked_in, generated = sys.argv[1:3]
with open(checked_in, encoding="utf-8") as file:
    expected = file.read()
if "." not in os.path.basename(generated):
    got = subprocess.run([os.path.abspath(generated)], check=True, stdout=subprocess.PIPE).stdout.decode("utf-8")
else:
    with open(generated, encoding="utf-8") as file:
        got = file.read()
if expected != got:
    sys.exit("%s is not what is generated; the BUILD file with this test says how to make it again" % checked_in)
