#pragma once

// Programs written for libtorch count on these.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>

#include <torch/all.h>
