"""Protocol buffers without rules_proto: the system's protoc makes the C++ sources."""

load(":rules.bzl", "kd_cc_library")

def kd_cc_proto_library(name, src, visibility = None):
    """A C++ library of one .proto file, which may import none but google/protobuf's.

    Include the header as "path/of/package/stem.pb.h".

    Args:
      name: of the library.
      src: the .proto file, in this package.
      visibility: as usual.
    """
    stem = src[:-len(".proto")]
    outs = [stem + ".pb.cc", stem + ".pb.h"]
    native.genrule(
        name = name + "_sources",
        srcs = [src],
        outs = outs,
        # `root` is empty in this workspace and external/<name>/ in another one. Debian installs google/protobuf/*.proto
        # under /usr/include, where protoc looks by itself.
        cmd = "source=$(location {src}); root=$${{source%{package}/{src}}}; protoc --proto_path=./$$root --cpp_out=$(GENDIR)/$$root $$source".format(
            package = native.package_name(),
            src = src,
        ),
        message = "Generating C++ from",
    )
    kd_cc_library(
        name = name,
        srcs = [stem + ".pb.cc"],
        hdrs = [stem + ".pb.h"],
        copts = ["-Wno-all", "-Wno-extra"],
        visibility = visibility,
        deps = ["//third_party/protobuf"],
    )
