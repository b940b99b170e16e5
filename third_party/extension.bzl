"""The system's libraries for workspaces that use MODULE.bazel."""

load("//third_party:system_libraries.bzl", "declare_system_libraries")

def _extension_impl(_ctx):
    declare_system_libraries()

system_libraries = module_extension(implementation = _extension_impl)
