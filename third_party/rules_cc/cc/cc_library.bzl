"""cc_library alone, under the path that newer rules_cc releases give it."""

cc_library = native.cc_library
