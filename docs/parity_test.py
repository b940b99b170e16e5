#!/usr/bin/env python3
"""docs/parity.md is what docs/parity/parity.py makes of its tables and of the source tree."""

import os
import subprocess
import sys

DOCS = os.path.dirname(os.path.realpath(__file__))
made = subprocess.run([os.path.join(DOCS, "parity/parity.py"), "text"], check=True, stdout=subprocess.PIPE).stdout.decode("utf-8")
with open(os.path.join(DOCS, "parity.md"), encoding="utf-8") as file:
    if file.read() != made:
        sys.exit("docs/parity.md is not what is made; docs/parity/README.md says how to make it again")
