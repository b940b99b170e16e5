// How long threads are in the stand-ins' own code, for tests of what a program's calls cost without it.
#pragma once

namespace cuda_standin {

/// While it lives, its thread is in a stand-in's function.
class OwnTime {
 public:
  OwnTime();
  ~OwnTime();
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;
};

/// Of the calling thread, since it first called this; what came before is not measured.
double own_seconds();

}  // namespace cuda_standin
