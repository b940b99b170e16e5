"""The third-party libraries: Debian packages, and NVIDIA's toolkit for --config=cuda."""

load("//third_party:system_library.bzl", "system_library")

load("//third_party:system_cuda.bzl", "system_cuda")

load("//third_party:system_mpi.bzl", "system_mpi")

def _always(_name):
    return True

def declare_system_libraries(is_missing = _always):
    """Declares the repositories for whose names `is_missing` is true."""
    if is_missing("system_abseil"):
        system_library(
            name = "system_abseil",
            package = "libabsl-dev",
            header = "absl/flags/flag.h",
            parts = {
                "strings": ["-labsl_str_format_internal", "-labsl_strings", "-labsl_throw_delegate", "-labsl_raw_logging_internal"],
                "flags": [
                    "-labsl_flags_parse",
                    "-labsl_flags_usage",
                    "-labsl_flags_usage_internal",
                    "-labsl_flags_internal",
                    "-labsl_flags_marshalling",
                    "-labsl_str_format_internal",
                    "-labsl_flags_reflection",
                    "-labsl_flags_private_handle_accessor",
                    "-labsl_flags_commandlineflag",
                    "-labsl_flags_commandlineflag_internal",
                    "-labsl_cord",
                    "-labsl_cordz_info",
                    "-labsl_cord_internal",
                    "-labsl_cordz_functions",
                    "-labsl_cordz_handle",
                    "-labsl_hash",
                    "-labsl_city",
                    "-labsl_bad_variant_access",
                    "-labsl_low_level_hash",
                    "-labsl_raw_hash_set",
                    "-labsl_bad_optional_access",
                    "-labsl_hashtablez_sampler",
                    "-labsl_exponential_biased",
                    "-labsl_flags_config",
                    "-labsl_flags_program_name",
                    "-labsl_synchronization",
                    "-labsl_graphcycles_internal",
                    "-labsl_stacktrace",
                    "-labsl_symbolize",
                    "-labsl_debugging_internal",
                    "-labsl_demangle_internal",
                    "-labsl_malloc_internal",
                    "-labsl_time",
                    "-labsl_civil_time",
                    "-labsl_strings",
                    "-labsl_strings_internal",
                    "-labsl_base",
                    "-labsl_spinlock_wait",
                    "-labsl_int128",
                    "-labsl_throw_delegate",
                    "-labsl_raw_logging_internal",
                    "-labsl_log_severity",
                    "-labsl_time_zone",
                ],
            },
        )
    if is_missing("system_benchmark"):
        system_library(
            name = "system_benchmark",
            package = "libbenchmark-dev",
            header = "benchmark/benchmark.h",
            parts = {
                "benchmark": ["-lbenchmark", "-lpthread"],
                "benchmark_main": ["-lbenchmark_main", ":benchmark"],
            },
        )
    if is_missing("system_cuda"):
        system_cuda(name = "system_cuda")
    if is_missing("system_gloo"):
        system_library(
            name = "system_gloo",
            package = "libgloo-dev",
            header = "gloo/context.h",
            parts = {"gloo": ["-lgloo"]},
        )
    if is_missing("system_googletest"):
        system_library(
            name = "system_googletest",
            package = "libgmock-dev",
            header = "gmock/gmock.h",
            parts = {
                "gtest": ["-lgmock", "-lgtest", "-lpthread"],
                "gtest_main": ["-lgmock_main", ":gtest"],
            },
        )
    if is_missing("system_grpc"):
        system_library(
            name = "system_grpc",
            package = "libgrpc-dev",
            header = "grpc/grpc.h",
            parts = {"grpc": ["-lgrpc", "-lgpr", "-lpthread"]},
        )
    if is_missing("system_highway"):
        system_library(name = "system_highway", package = "libhwy-dev", header = "hwy/highway.h", parts = {"headers": []})
    if is_missing("system_httplib"):
        system_library(name = "system_httplib", package = "libcpp-httplib-dev", header = "httplib.h", parts = {"httplib": ["-lcpp-httplib", "-lpthread"]})
    if is_missing("system_jpeg"):
        system_library(name = "system_jpeg", package = "libjpeg62-turbo-dev", header = "jpeglib.h", parts = {"jpeg": ["-ljpeg"]})
    if is_missing("system_json"):
        system_library(name = "system_json", package = "nlohmann-json3-dev", header = "nlohmann/json.hpp", parts = {"json": []})
    if is_missing("system_lapack"):
        # Needed at run time only by programs that call it: the linker leaves it out of the others.
        system_library(
            name = "system_lapack",
            package = "libopenblas-dev",
            header = "openblas_config.h",
            parts = {"lapack": ["-Wl,--push-state,--as-needed", "-lopenblas", "-Wl,--pop-state"]},
        )
    if is_missing("system_libzip"):
        system_library(name = "system_libzip", package = "libzip-dev", header = "zip.h", parts = {"libzip": ["-lzip"]})
    if is_missing("system_mpi"):
        system_mpi(name = "system_mpi")
    if is_missing("system_onednn"):
        system_library(name = "system_onednn", package = "libdnnl-dev", header = "oneapi/dnnl/dnnl.hpp", parts = {"onednn": ["-ldnnl"]})
    if is_missing("system_onnx"):
        system_library(
            name = "system_onnx",
            package = "libonnx-dev",
            header = "onnx/onnx.proto",
            parts = {},
            files = ["onnx/onnx.proto"],
        )
    if is_missing("system_openssl"):
        system_library(name = "system_openssl", package = "libssl-dev", header = "openssl/evp.h", parts = {"crypto": ["-lcrypto"]})
    if is_missing("system_png"):
        system_library(name = "system_png", package = "libpng-dev", header = "png.h", parts = {"png": ["-lpng", "-lz", "-lm"]})
    if is_missing("system_protobuf"):
        system_library(
            name = "system_protobuf",
            package = "libprotobuf-dev",
            header = "google/protobuf/message.h",
            parts = {"protobuf": ["-lprotobuf", "-lpthread"]},
        )
    if is_missing("system_sndfile"):
        system_library(name = "system_sndfile", package = "libsndfile1-dev", header = "sndfile.h", parts = {"sndfile": ["-lsndfile"]})
    if is_missing("system_xnnpack"):
        # Another one, for ARM, takes its place as a repository of this name with a target `xnnpack`.
        system_library(name = "system_xnnpack", package = "libxnnpack-dev", header = "xnnpack.h", parts = {"xnnpack": ["-lXNNPACK"]})
    if is_missing("system_zlib"):
        system_library(name = "system_zlib", package = "zlib1g-dev", header = "zlib.h", parts = {"zlib": ["-lz"]})
