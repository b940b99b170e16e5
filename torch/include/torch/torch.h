#pragma once

// Programs written for libtorch count on these.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>

#include "c10/util/hash.h"
#include "c10/util/metaprogramming.h"
#include "c10/util/std_complex.h"

#include <torch/all.h>
