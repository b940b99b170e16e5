"""cc_import alone, under the path that newer rules_cc releases give it."""

cc_import = native.cc_import
