// Says who is behind, from the flight recorders' files of the ranks of a job:
//
//   bazel run //distributed/process_group:analyze_flights -- /tmp/comm_lib_trace_rank_*
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/process_group/flight_recorder.h"

int main(int count, char** paths) {
  std::vector<std::string> dumps;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    dumps.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", paths[i]);
      return 1;
    }
  }
  try {
    std::fputs(c10d::analyze_flights(dumps).c_str(), stdout);
  } catch (const c10::Error& e) {
    std::fprintf(stderr, "%s\n", e.msg().c_str());
    return 1;
  }
  return 0;
}
