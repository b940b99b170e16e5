#!/usr/bin/env python3
"""What this library has of libtorch's names: docs/parity.md and the sources that prove it.

parity.py probe PART PARTS NAMES ABSENT INSTANCES  prints a source that compiles if and only if the tables tell the truth
parity.py text                                     prints docs/parity.md
parity.py mend                                     reads a compiler's complaints of such sources and changes absent.tsv

The tables lie beside this file; README.md there says what each holds.
"""

import collections
import fnmatch
import os
import re
import sys

Name = collections.namedtuple("Name", "header scope kind name")

CLASSES = ("class", "class template")
STATUSES = ("same", "differs", "not yet", "never")


def fields(path):
    """The fields of each line that is not a comment."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def qualified(name):
    return name.scope + "::" + name.name if name.scope else name.name


def read_names(path):
    return [Name(header, scope, kind, name) for header, scope, kind, names in fields(path) for name in names.split()]


def read_absent(path):
    return {scope + "::" + name if scope else name for scope, names in (pad(f, 2) for f in fields(path)) for name in names.split()}


def pad(row, count):
    return row + [""] * (count - len(row))


# Sources that prove the tables.

class Prober:
    """Writes one declaration a name: it compiles where the name is what the tables say."""

    def __init__(self, names, absent, instances):
        self.kinds = {qualified(name): name.kind for name in names}
        self.absent = absent
        self.instances = instances
        self.count = 0

    def scope_of(self, name):
        """The type whose member a name is: "" of a namespace, None where a template has no instance."""
        kind = self.kinds.get(name.scope, "")
        if "-" in (self.instances.get(name.scope), self.instances.get(qualified(name))):
            return None
        if kind == "class template" or name.scope in self.instances:
            return self.instances.get(name.scope)
        return "::" + name.scope if kind == "class" else ""

    def probe(self, name):
        self.count += 1
        path = qualified(name)
        missing = path in self.absent
        if name.kind == "macro":
            return "#if%s %s  // %s\n#error %s is %s  // %s\n#endif" % (
                "def" if missing else "ndef", path, path, path, "there" if missing else "absent", path)
        if missing and any(path.startswith(parent) for parent in self.parents(name)):
            return ""
        owner = self.scope_of(name)
        if owner is None:
            return ""
        if self.kinds.get(name.scope) == "enum":
            return self.enumerator(name, missing)
        if owner:
            return self.member(owner, name.name, missing)
        return self.of_namespace(name, missing)

    def parents(self, name):
        """Classes that are absent, with their members."""
        parts = name.scope.split("::")
        return [p + "::" for p in ("::".join(parts[:i + 1]) for i in range(len(parts))) if p in self.absent]

    def member(self, owner, name, missing):
        # A base that brings another one makes the name ambiguous where the class has it.
        if missing:
            return "struct a%d { int %s; }; struct b%d : %s, a%d {}; using c%d = decltype(&b%d::%s);" % (
                self.count, name, self.count, owner, self.count, self.count, self.count, name)
        short = "o%d" % self.count
        return "using %s = %s; struct m%d : %s { using %s::%s; };" % (short, owner, self.count, short, short, name)

    def enumerator(self, name, missing):
        if not missing:
            return "namespace n%d { constexpr auto x = ::%s; }" % (self.count, qualified(name))
        return "namespace a%d { inline constexpr int %s = 0; } namespace b%d { using enum ::%s; } " \
               "namespace n%d { using namespace a%d; using namespace b%d; } static_assert(n%d::%s == 0);" % (
                   self.count, name.name, self.count, name.scope, self.count, self.count, self.count, self.count, name.name)

    def of_namespace(self, name, missing):
        path, number = qualified(name), self.count
        if name.kind == "namespace alias":
            return "" if missing else "namespace n%d { namespace x = ::%s; }" % (number, path)
        if not missing:
            return "namespace n%d { using ::%s; }" % (number, path)
        # Found in two namespaces, it is ambiguous.
        space = name.scope
        return "namespace %s {} namespace a%d { inline constexpr int %s = 0; } namespace n%d { using namespace ::%s; " \
               "using namespace a%d; } static_assert(n%d::%s == 0);" % (
                   space, number, name.name, number, space, number, number, name.name)


def probe(part, parts, names_path, absent_path, instances_path):
    names = read_names(names_path)
    prober = Prober(names, read_absent(absent_path), dict(fields(instances_path)))
    lines = [line + "  // " + qualified(name) for name, line in ((name, prober.probe(name)) for name in names) if line]
    share = -(-len(lines) // int(parts))
    first = share * int(part)
    print('#include "tests/parity/all_headers.h"\n')
    print("\n".join(lines[first:first + share]))


def mend(output, tables):
    """Moves the names that a compiler complains of in or out of absent.tsv."""
    changed = set()
    for line in output:
        found = re.match(r"(\S*tests/parity/names_\d+\.cc):(\d+):\d+: (?:fatal )?error: ", line)
        if found:
            with open(found.group(1), encoding="utf-8") as file:
                changed.add(file.read().split("\n")[int(found.group(2)) - 1].split("  // ")[-1])
    path = os.path.join(tables, "absent.tsv")
    absent = read_absent(path) ^ changed
    rows, written = collections.OrderedDict(), set()
    for name in sorted(read_names(os.path.join(tables, "names.tsv")), key=lambda name: (name.scope, name.name)):
        if qualified(name) in absent - written:
            written.add(qualified(name))
            rows.setdefault(name.scope, []).append(name.name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("# The names of names.tsv that are not here: scope, names. The compiler checks both ways (//tests/parity).\n")
        file.writelines(scope + "\t" + " ".join(names) + "\n" for scope, names in rows.items())
    for name in sorted(changed):
        print(name, "is absent" if name in absent else "is here")


# The text.

Fact = collections.namedtuple("Fact", "status words")  # words: the test that shows it, how it differs, or why it is not there


class Rules:
    """Patterns and what they say, the first that fits: of a qualified name or, after an @, of a header."""

    def __init__(self, path):
        self.rules = [pad(row, 3) for row in fields(path)]
        self.used = set()

    def find(self, path, header):
        for index, (pattern, first, second) in enumerate(self.rules):
            subject, pattern = (header, pattern[1:]) if pattern.startswith("@") else (path, pattern)
            if fnmatch.fnmatchcase(subject, pattern):
                self.used.add(index)
                return first, second
        return None

    def unused(self):
        return [rule[0] for index, rule in enumerate(self.rules) if index not in self.used]


class Evidence:
    """Which test file says a name."""

    WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

    def __init__(self, root):
        self.files = {}
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if not f.startswith((".", "bazel-")) and f not in ("testdata", "docs"))
            relative = os.path.relpath(folder, root)
            for name in sorted(names):
                if name.endswith("_test.cc") or name.endswith(".cc") and relative == "tests/recorded":
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        self.files[os.path.join(relative, name)[:-3]] = set(self.WORD.findall(file.read()))

    def of(self, words, folders):
        """The first test of the folders, then of all, that says all words; "" if none does."""
        for folder in folders + [""]:
            for path, said in self.files.items():
                if path.startswith(folder) and words <= said:
                    return path
        return ""


class Area:
    def __init__(self, title, patterns, folders):
        self.title = title
        self.patterns = patterns.split()
        self.folders = folders.split()
        self.headers = collections.OrderedDict()  # header -> {Fact: [name]}
        self.counts = collections.Counter()

    def fits(self, name):
        return any(fnmatch.fnmatchcase(qualified(name) if "::" in p else name.header, p) for p in self.patterns)

    def add(self, name, fact):
        self.headers.setdefault(name.header, collections.OrderedDict()).setdefault(fact, []).append(name)
        self.counts[fact.status] += 1


class Page:
    def __init__(self, root):
        self.root = root
        self.tables = os.path.join(root, "docs/parity")
        self.out = []
        self.errors = []
        self.evidence = Evidence(root)

    def table(self, name):
        return os.path.join(self.tables, name)

    def say(self, text=""):
        self.out.append(text)

    # Names.

    def fact(self, name, area):
        path = qualified(name)
        if path in self.absent:
            found = self.reasons.find(path, name.header)
            if not found:
                self.errors.append("no reason in reasons.tsv: %s (%s)" % (path, name.header))
                return Fact("not yet", "")
            return Fact(*found)
        differs = self.differs.find(path, name.header)
        if differs:
            return Fact("differs", differs[0])
        words = {name.name}
        if self.kinds.get(name.scope) in CLASSES + ("enum",):
            words.add(self.holder(name.scope.split("::")[-1]))
        return Fact("same", self.evidence.of(words, area.folders))

    def holder(self, name):
        """Tests say `Linear` where the class is LinearImpl."""
        return name[:-4] if name.endswith("Impl") and name != "Impl" else name

    def sort_names(self):
        names = read_names(self.table("names.tsv"))
        self.kinds = {qualified(name): name.kind for name in names}
        self.absent = read_absent(self.table("absent.tsv"))
        self.reasons = Rules(self.table("reasons.tsv"))
        self.differs = Rules(self.table("differs.tsv"))
        self.areas = [Area(*pad(row, 3)) for row in fields(self.table("areas.tsv"))]
        for path in sorted(self.absent - {qualified(name) for name in names}):
            self.errors.append("absent.tsv: no such name in names.tsv: " + path)
        for name in names:
            area = next((a for a in self.areas if a.fits(name)), None)
            if area is None:
                self.errors.append("areas.tsv: no area for %s (%s)" % (qualified(name), name.header))
                continue
            area.add(name, self.fact(name, area))
        self.errors += ["no name fits the line of %s" % rule for rule in self.differs.unused()]

    def name_lines(self, area):
        self.say("\n## %s\n" % area.title)
        for header, facts in sorted(area.headers.items()):
            self.say("- `%s`" % header)
            for fact, names in sorted(facts.items(), key=lambda item: (STATUSES.index(item[0].status), item[0].words)):
                self.say("  - %s: %s" % (self.fact_words(fact), self.listed(names)))

    def fact_words(self, fact):
        if fact.status == "same":
            return "same, %s" % ("`%s`" % fact.words if fact.words else "compiles")
        return "**%s**, %s" % (fact.status, fact.words)

    def listed(self, names):
        """Names, members after their class: `A` (`b` `c`)."""
        groups = collections.OrderedDict()
        for name in names:
            groups.setdefault(name.scope, []).append(name.name)
        texts = []
        for scope, members in groups.items():
            text = "`" + " ".join(members) + "`"
            texts.append("%s:: %s" % (scope, text) if scope else text)
        return "; ".join(texts)

    # Headers, operators, subsystems, programs of tests.

    def our_headers(self):
        ours = {row[0].split(" ")[0] for row in fields(os.path.join(self.root, "torch/include_paths.txt"))}
        include = os.path.join(self.root, "torch/include")
        for folder, _, names in os.walk(include):
            ours |= {os.path.relpath(os.path.join(folder, name), include) for name in names}
        for folder in ("c10", "torch"):
            for parent, _, names in os.walk(os.path.join(self.root, folder)):
                ours |= {os.path.relpath(os.path.join(parent, name), self.root) for name in names if name.endswith(".h")}
        return ours

    def sort_headers(self):
        ours = self.our_headers()
        self.header_counts = collections.Counter()
        self.header_rows = []
        for folder, names in fields(self.table("headers.tsv")):
            groups = collections.OrderedDict()
            for name in names.split():
                path = folder + "/" + name
                if path in ours:
                    status, words = "same", ""
                else:
                    status, words = self.reasons.find(path, path) or ("not yet", "")
                    if not words:
                        self.errors.append("no reason in reasons.tsv for the header " + path)
                groups.setdefault((status, words), []).append(name)
                self.header_counts[status] += 1
            self.header_rows.append((folder, groups))

    def header_lines(self):
        self.say("\n## Include paths\n\nA path is the same where `#include` of it compiles here (`tests/api/include_paths_test`, "
                 "`//tests/headers`). Besides, `ATen/ops/NAME.h` is there for every operator of [operators.md](operators.md).\n")
        for folder, groups in self.header_rows:
            self.say("- `%s/`" % folder)
            for (status, words), names in sorted(groups.items(), key=lambda item: STATUSES.index(item[0][0])):
                self.say("  - %s: `%s`" % ("same" if status == "same" else "**%s**, %s" % (status, words), " ".join(names)))

    def sort_operators(self):
        """From docs/operators.md, and of those that a library registers from its source: which operators have a kernel."""
        self.families = []
        with_kernel, without, family = set(), set(), ""
        with open(os.path.join(self.root, "docs/operators.md"), encoding="utf-8") as file:
            for line in file:
                if line.startswith("## "):
                    family = line[3:].strip()
                    self.families.append([family, set(), set()])
                elif line.startswith("| `"):
                    cells = line.split(" | ")
                    found = set(re.findall("`([^`]*)`", cells[0] + cells[1]))
                    self.families[-1][1] |= found
                    with_kernel |= found
                elif line.startswith("Without a kernel"):
                    found = set(re.findall("`([^`]*)`", line.split("):", 1)[1]))
                    self.families[-1][2] |= found
                    without |= found
        for path, found in fields(self.table("registered.tsv")):
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                text = file.read()
            for name in found.split():
                if 'm.def("%s(' % name not in text:
                    self.errors.append("registered.tsv: %s does not define %s" % (path, name))
                with_kernel.add(name)
        self.operator_counts = collections.Counter()
        self.operator_groups = collections.OrderedDict()
        names = sorted(name for row in fields(self.table("operators.tsv")) for name in row[0].split())
        for name in names:
            if name in with_kernel:
                status, words = "same", ""
            else:
                status, words = self.operator_reasons.find(name, name) or ("", "")
                if not status:
                    self.errors.append("the operator %s has no kernel%s, and no line in docs/parity/operator_reasons.tsv says why" %
                                       (name, "" if name in without else " and no entry"))
                    continue
            self.operator_counts[status] += 1
            if status != "same":
                self.operator_groups.setdefault((status, words), []).append(name)

    def operator_lines(self):
        self.say("\n## Operators\n\nThe %d operators of libtorch 2.15 by their schemas' names. Which have a kernel, for which dtypes, with "
                 "which derivatives and tests: [operators.md](operators.md). Those without:\n" % sum(self.operator_counts.values()))
        for (status, words), names in sorted(self.operator_groups.items()):
            self.say("- **%s**, %s: `%s`" % (status, words, " ".join(names)))

    def subsystem_lines(self):
        self.say("\n## Documented subsystems\n\n| subsystem | status | what, how, why | shown by |\n| --- | --- | --- | --- |")
        for row in self.subsystems:
            self.say("| %s | %s | %s | %s |" % (row[0], row[1], row[2], " ".join("`%s`" % test for test in row[3].split())))

    def sort_subsystems(self):
        self.subsystems = [pad(row, 4) for row in fields(self.table("subsystems.tsv"))]
        self.subsystem_counts = collections.Counter(row[1] for row in self.subsystems)
        for row in self.subsystems:
            if row[1] not in STATUSES:
                self.errors.append("subsystems.tsv: %s: %s is no status" % (row[0], row[1]))
            if row[1] in ("same", "differs") and not row[3]:
                self.errors.append("subsystems.tsv: %s has no test" % row[0])
            for test in row[3].split():
                self.check_test(test, "subsystems.tsv: " + row[0])

    def check_test(self, test, where):
        """A target that a BUILD file names, //folder:name; kd_cuda_test adds where it runs."""
        folder, _, target = test[2:].partition(":")
        target = re.sub("_cuda(_on_host)?$", "", target)
        build = os.path.join(self.root, folder, "BUILD.bazel")
        text = open(build, encoding="utf-8").read() if test.startswith("//") and os.path.exists(build) else ""
        if not re.search(r'name = "%s"' % re.escape(target or os.path.basename(folder)), text):
            self.errors.append("%s: no target %s" % (where, test))

    def api_test_lines(self):
        path = os.path.join(self.root, "docs/api_tests.txt")
        rows = [pad(re.split("\t|: ", "\t".join(row), maxsplit=2), 3) for row in fields(path)]
        self.say("\n## libtorch's own API tests that fail\n\nCompiled as they are (1.13's, 1,057 tests). These %d do not pass. CUDA: needs a device; "
                 "TorchScript: needs its compiler; differs: 2.15 behaves otherwise than 1.13.\n" % len(rows))
        groups = collections.OrderedDict()
        for file, test, reason in rows:
            groups.setdefault((file, reason), []).append(test)
        self.say("| file | tests | reason |\n| --- | --- | --- |")
        for (file, reason), tests in groups.items():
            self.say("| `%s` | `%s` | %s |" % (file, " ".join(tests), reason))

    def summary(self):
        self.say("| area | same | differs | not yet | never |\n| --- | --- | --- | --- | --- |")
        rows = [("Documented subsystems", self.subsystem_counts), ("Include paths", self.header_counts), ("Operators", self.operator_counts)]
        total = collections.Counter()
        for area in self.areas:
            rows.append((area.title, area.counts))
            total += area.counts
        rows.append(("all names of C++", total))
        for title, counts in rows:
            self.say("| %s | %s |" % (title, " | ".join(str(counts[status]) for status in STATUSES)))

    def text(self):
        self.operator_reasons = Rules(self.table("operator_reasons.tsv"))
        self.sort_names()
        self.sort_headers()
        self.sort_operators()
        self.sort_subsystems()
        self.say("# Parity with libtorch 2.15\n\nMade by `docs/parity/parity.py` from the tables beside it. **same**: the name, its arguments and what "
                 "it does are libtorch's; behind it the first test file that says the name, or \"compiles\" where only the compiler has "
                 "looked. **differs**: how. **not yet** and **never**: why. That each name is there or is not, as it stands here, the "
                 "compiler checks (`//tests/parity`).\n")
        self.summary()
        self.subsystem_lines()
        self.api_test_lines()
        self.operator_lines()
        self.header_lines()
        for area in self.areas:
            self.name_lines(area)
        if self.errors:
            sys.exit("\n".join(self.errors[:50]))
        return "\n".join(self.out) + "\n"


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    if len(arguments) == 6 and arguments[0] == "probe":
        probe(*arguments[1:])
    elif arguments == ["mend"]:
        mend(sys.stdin, os.path.join(root, "docs/parity"))
    elif arguments == ["text"]:
        sys.stdout.write(Page(root).text())
    else:
        return __doc__
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
