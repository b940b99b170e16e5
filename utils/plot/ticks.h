// Where the ticks of an axis stand.
#pragma once

#include <vector>

namespace torch::utils::plot {

// Round tick positions (1, 2 or 5 times a power of ten apart) within [low, high], about `count` of them.
std::vector<double> ticks(double low, double high, int count);

}  // namespace torch::utils::plot
