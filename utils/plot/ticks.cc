#include "utils/plot/ticks.h"

#include <cmath>

namespace torch::utils::plot {

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> out;
  if (!(high > low) || count < 1) return out;
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = power * (rough < 1.5 * power ? 1 : rough < 3.5 * power ? 2 : rough < 7.5 * power ? 5 : 10);
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + 1e-9 * step && out.size() < 100; ++i) out.push_back(i == 0 ? 0 : i * step);
  return out;
}

}  // namespace torch::utils::plot
