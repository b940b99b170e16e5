"""Prints unicode_ranges.inc: the letters (categories L) and numbers (N) of Unicode behind ASCII.

    python3 data/text/unicode_ranges.py > data/text/unicode_ranges.inc
"""

import sys
import unicodedata


def ranges(category):
    """First and last code points of the stretches of that category."""
    out = []
    for code in range(0x80, sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] != category:
            continue
        if out and out[-1][1] == code - 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def lines(name, category):
    text = f"constexpr CodeRange {name}[] = {{"
    row = ""
    for first, last in ranges(category):
        cell = f"{{0x{first:x}, 0x{last:x}}}, "
        if len(row) + len(cell) > 116:
            text += "\n    " + row.rstrip()
            row = ""
        row += cell
    return text + "\n    " + row.rstrip(", ") + "};"


print(f"// Of Unicode {unicodedata.unidata_version}, by unicode_ranges.py.")
print(lines("kLetters", "L"))
print(lines("kNumbers", "N"))
