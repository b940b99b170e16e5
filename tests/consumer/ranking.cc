#include <cstdio>

#include "ranker.h"

int main() {
  programs::Ranker ranker;
  const float features[16] = {1};
  float scores[4] = {};
  ranker.run({features}, {scores});
  for (const float score : scores) {
    if (score != score) return 1;
  }
  std::printf("scores: %g %g %g %g\n", scores[0], scores[1], scores[2], scores[3]);
}
