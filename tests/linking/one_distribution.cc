// Makes one distribution and takes one divergence, with all of them on the link line.
#include "distributions/kl.h"
#include "distributions/location_scale.h"

int main() {
  using torch::distributions::Normal;
  const Normal normal(0.0, 1.0);
  const bool is_half = kl_divergence(normal, Normal(1.0, 1.0)).item<float>() == 0.5f;
  return is_half && normal.sample({3}).numel() == 3 ? 0 : 1;
}
