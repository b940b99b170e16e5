"""cc_test alone, under the path that newer rules_cc releases give it."""

cc_test = native.cc_test
