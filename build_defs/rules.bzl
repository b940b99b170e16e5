"""The project's rules. Every difference between Bazel versions lives in this folder and nowhere else."""

load("@rules_cc//cc:cc_binary.bzl", _cc_binary = "cc_binary")
load("@rules_cc//cc:cc_library.bzl", _cc_library = "cc_library")
load("@rules_cc//cc:cc_test.bzl", _cc_test = "cc_test")
load("//build_defs:precompiled.bzl", "kd_precompiled_header")

# This workspace's, whichever calls the rules.
_IS = {
    name: str(Label("//build_defs:" + name))
    for name in ["asan", "clang", "minimal", "minimal_clang", "precompiled", "tsan"]
}

# One section a function and a datum, so that the linker drops what a program does not call, in every compilation mode. Frame
# pointers and stack protectors, which Bazel's toolchain adds, cost a small call a tenth of its time.
_COPTS = ["-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fno-math-errno", "-fno-stack-protector", "-fomit-frame-pointer"] + select({
    # Clang 19 may move a copy into a landing pad, over the register that brings the exception there: it is lost, and the
    # program ends. Seen with -Os and TSan in //aten/ops/conv:conv_test.
    _IS["clang"]: ["-mllvm", "-disable-postra-machine-sink"],
    "//conditions:default": [],
}) + select({
    # Small programs; unwind tables only where an exception may pass. Clang then also keeps exception tables a function, so that the linker drops those of what is not called.
    _IS["minimal_clang"]: ["-Os", "-fno-asynchronous-unwind-tables", "-fbinutils-version=2.36"],
    _IS["minimal"]: ["-Os", "-fno-asynchronous-unwind-tables"],
    "//conditions:default": [],
})

# Which headers a folder's sources find parsed where //build_defs:precompiled_headers is on, and which its tests do: those that
# most of them include anyway, so that few sources compile more often than they did. The first folder that fits counts.
_PACKAGE = "//build_defs/precompiled:"
_STANDARD = ("standard", "standard_tests")
_TENSOR = ("tensor", "tensor_tests")
_OPERATORS = ("tensor", "operators_tests")
_PRECOMPILED = [
    # Their libraries compile without optimisation, by .bazelrc.
    ("tests", (None, "operators_tests")),
    ("aten/core", _STANDARD),
    ("aten/codegen", _STANDARD),
    ("aten/cpu", _STANDARD),
    ("aten", _TENSOR),
    ("compile/aot/runtime", _STANDARD),
    ("compile/group", _STANDARD),
    ("graph/ir", _STANDARD),
    ("jit/frontend", _STANDARD),
] + [(folder, _OPERATORS) for folder in ["autograd", "compile", "distributions", "export", "func", "graph", "jit", "nn", "optim", "quantization", "stable"]]

# Who depends on all of the library includes <torch/torch.h>.
_TORCH = [str(Label("//torch")), "//torch", "//torch:torch"]
_ALL = (str(Label("//torch:program_headers")), str(Label("//torch:test_headers")))

def _precompiled_headers(deps, for_tests):
    package = native.package_name()
    is_test_library = not for_tests and (package == "tests" or package.startswith("tests/"))
    if type(deps) == "list" and not is_test_library and [dep for dep in deps if dep in _TORCH]:
        return _ALL[1 if for_tests else 0]
    names = _STANDARD
    for folder, entry in _PRECOMPILED:
        if package == folder or package.startswith(folder + "/"):
            names = entry
            break
    name = names[1] if for_tests else names[0]
    return str(Label(_PACKAGE + name)) if name else None

def only_warnings(copts):
    """Whether compiler options say nothing but what to warn of: headers may then be precompiled without them."""
    return type(copts) == "list" and not [option for option in copts if not option.startswith("-W")]

def kd_cc_library(name, copts = [], deps = [], precompiled = None, **kwargs):
    """A library of this project.

    Args:
      name: as cc_library's, like all others that are not named here.
      copts: as cc_library's; with other options than warnings, no header is precompiled.
      deps: as cc_library's.
      precompiled: whether headers may be precompiled, where `copts` do not say it.
      **kwargs: as cc_library's.
    """
    if precompiled == None:
        precompiled = only_warnings(copts)
    _cc_library(name = name, **dict(kwargs, **_library_options(copts, deps, precompiled and kwargs.get("srcs"))))

def _library_options(copts, deps, precompiled):
    headers = _precompiled_headers(deps, for_tests = False)
    if not precompiled or not headers:
        return dict(copts = _COPTS + copts, deps = deps)
    return dict(
        copts = _COPTS + copts + select({
            _IS["precompiled"]: _with_headers(headers),
            "//conditions:default": [],
        }),
        deps = deps + select({
            _IS["precompiled"]: [headers],
            "//conditions:default": [],
        }),
    )

def _with_headers(target):
    return ["-include-pch", "$(execpath %s)" % target, "-Xclang", "-isysroot", "-Xclang", "."]

def kd_cc_binary(name, copts = [], linkopts = [], deps = [], **kwargs):
    """A program of this project. Takes what cc_binary takes."""
    options = _library_options(copts, deps, only_warnings(copts) and kwargs.get("srcs"))
    _cc_binary(name = name, linkopts = ["-Wl,--gc-sections"] + linkopts, **dict(kwargs, **options))

def kd_static_binary(name, target_compatible_with = [], **kwargs):
    """A program without shared libraries. Takes what cc_binary takes; left out of ASan and TSan builds, whose run-time parts are dynamic."""
    kd_cc_binary(
        name = name,
        features = ["fully_static_link"],
        linkstatic = True,
        target_compatible_with = target_compatible_with + select({
            _IS["asan"]: ["@platforms//:incompatible"],
            _IS["tsan"]: ["@platforms//:incompatible"],
            "//conditions:default": [],
        }),
        **kwargs
    )

# Tests compile in half the time without optimisation, and what they test is optimised all the same. Optimised are those of
# kernels, for their own loops, and those that look at what a linker or an optimiser makes.
_TEST_COPTS = ["-O0", "-U_FORTIFY_SOURCE"]
_OPTIMIZED_TESTS = ["aten/cpu", "tests/accuracy", "tests/budgets", "tests/linking", "tests/soak"]

def kd_precompiled_headers(name, headers, deps = [], for_tests = False):
    """Headers that sources find parsed: those of libraries, or those of tests, which kd_cc_test's `precompiled` may name."""
    kd_precompiled_header(
        name = name,
        testonly = for_tests,
        copts = _COPTS + (_TEST_COPTS if for_tests else []),
        enabled = select({
            _IS["clang" if for_tests else "precompiled"]: True,
            "//conditions:default": False,
        }),
        headers = headers,
        visibility = ["//visibility:public"],
        deps = deps,
    )

def _test_options(copts, deps, optimized, precompiled):
    package = native.package_name()
    if optimized or [folder for folder in _OPTIMIZED_TESTS if package == folder or package.startswith(folder + "/")]:
        return _library_options(copts, deps, only_warnings(copts))
    if precompiled == None:
        precompiled = _precompiled_headers(deps, for_tests = True)
    if not precompiled or not only_warnings(copts):
        return dict(copts = _COPTS + copts + _TEST_COPTS, deps = deps)
    return dict(
        copts = _COPTS + copts + _TEST_COPTS + select({
            _IS["clang"]: _with_headers(precompiled),
            "//conditions:default": [],
        }),
        deps = [precompiled] + deps,
    )

def kd_cc_test(name, copts = [], deps = [], linkstatic = True, optimized = False, precompiled = None, **kwargs):
    """A GoogleTest program. Linked statically unless said otherwise, so that a forgotten dependency shows.

    Args:
      name: as cc_test's, like all others that are not named here.
      copts: as cc_test's; with other options than warnings, no header is precompiled.
      deps: as cc_test's.
      linkstatic: as cc_test's.
      optimized: compile the sources as a library's.
      precompiled: a kd_precompiled_headers target for tests, with headers that the sources include, "" where it matters what
        else those bring; by default that of <torch/torch.h> where `deps` name //torch, and else the folder's.
      **kwargs: as cc_test's.
    """
    options = _test_options(copts, deps + ["//third_party/googletest:gtest_main"], optimized, precompiled)
    _cc_test(name = name, linkstatic = linkstatic, linkopts = ["-Wl,--gc-sections"], **dict(kwargs, **options))

def kd_cc_test_library(name, copts = [], deps = [], optimized = False, precompiled = None, **kwargs):
    """Sources of tests as a library. Takes what cc_library takes, and what kd_cc_test adds."""
    _cc_library(name = name, testonly = True, **dict(kwargs, **_test_options(copts, deps, optimized, precompiled)))

def kd_cc_benchmark(name, copts = [], deps = [], **kwargs):
    """A Google Benchmark program."""
    kd_cc_binary(
        name = name,
        testonly = True,
        copts = copts,
        deps = deps + ["//third_party/google_benchmark:benchmark_main"],
        **kwargs
    )

def kd_script_test(name, script, data = [], args = [], tags = [], **kwargs):
    """A test that is a script with a #! line. It may look at the source tree, which Bazel does not see: it runs outside the
    sandbox, on this machine, and every time."""
    native.sh_test(
        name = name,
        srcs = [script],
        data = data,
        args = args,
        tags = tags + ["local", "no-sandbox", "external"],
        **kwargs
    )
