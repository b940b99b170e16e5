"""cc_binary alone, under the path that newer rules_cc releases give it."""

cc_binary = native.cc_binary
