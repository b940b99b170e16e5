#!/usr/bin/env python3
"""The sources that prove docs/parity compile where the tables tell the truth and only there, for each kind of name."""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
COMPILER = os.environ.get("CXX", "c++")

HEADER = """#pragma once
#define HERE
namespace n {
struct A { void f(); void f(int); int x; enum E { e }; };
template <class T> struct B { T g(); };
enum class C { c };
void h(); void h(int);
using D = A;
}
"""

# A name and whether it is in the header.
NAMES = [
    ("", "macro", "HERE", True), ("", "macro", "THERE", False), ("n", "class", "A", True), ("n::A", "method", "f", True),
    ("n::A", "method", "q", False), ("n::A", "field", "x", True), ("n::A", "enum", "E", True), ("n::A", "enum", "F", False),
    ("n", "class template", "B", True), ("n::B", "method", "g", True), ("n::B", "method", "q", False), ("n", "enum", "C", True),
    ("n::C", "enumerator", "c", True), ("n::C", "enumerator", "q", False),
    ("n", "function", "h", True), ("n", "function", "q", False), ("n", "alias", "D", True),
    ("n", "class", "Q", False), ("m", "class", "A", False),
]


def compiles(folder, names, absent):
    tables = []
    for name, lines in (("names", names), ("absent", absent), ("instances", ["n::B\tn::B<int>"])):
        tables.append(os.path.join(folder, name + ".tsv"))
        with open(tables[-1], "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
    source = os.path.join(folder, "source.cc")
    with open(source, "w", encoding="utf-8") as file:
        subprocess.run([os.path.join(ROOT, "docs/parity/parity.py"), "probe", "0", "1"] + tables, check=True, stdout=file)
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-I" + folder, source]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "tests/parity"))
        with open(os.path.join(folder, "tests/parity/all_headers.h"), "w", encoding="utf-8") as file:
            file.write(HEADER)
        names = ["h.h\t%s\t%s\t%s" % (scope, kind, name) for scope, kind, name, _ in NAMES]
        absent = ["%s\t%s" % (scope, name) for scope, _, name, here in NAMES if not here]
        if not compiles(folder, names, absent):
            sys.exit("true tables do not compile")
        for scope, _, name, here in NAMES:
            line = "%s\t%s" % (scope, name)
            planted = absent + [line] if here else [a for a in absent if a != line]
            if compiles(folder, names, planted):
                sys.exit("not noticed: %s::%s is %s" % (scope, name, "here" if here else "absent"))


if __name__ == "__main__":
    main()
