// Makes one distribution, with all of them on the link line.
#include "distributions/location_scale.h"

int main() {
  const torch::distributions::Normal normal(0.0, 1.0);
  return normal.sample({3}).numel() == 3 ? 0 : 1;
}
