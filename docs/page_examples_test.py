#!/usr/bin/env python3
"""Each indented block of a page stands, line by line, in the test that runs it. Arguments: the page, the test."""
import sys


def blocks(page):
    block = []
    for line in open(page).read().split("\n") + [""]:
        if line.startswith("    ") or (block and not line):
            block.append(" ".join(line.split()))
        else:
            yield [text for text in block if text]
            block = []


def main():
    page, test = sys.argv[1:]
    lines = [" ".join(line.split()) for line in open(test).read().split("\n") if line.strip()]
    count = 0
    for block in blocks(page):
        if not block:
            continue
        count += 1
        if not any(lines[i:i + len(block)] == block for i in range(len(lines))):
            sys.exit("%s has an example that %s does not run:\n\n    %s" % (page, test, "\n    ".join(block)))
    if count == 0:
        sys.exit(page + " has no examples")


if __name__ == "__main__":
    main()
