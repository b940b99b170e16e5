#pragma once

// What the C++ part of an extension includes; there is no Python in it.
#include <torch/all.h>
#include <torch/custom_class.h>
#include <torch/library.h>
