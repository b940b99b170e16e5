// The name of the calling thread, as tools show it; at most 15 letters are kept.
#pragma once

#include <pthread.h>

#include <string>

namespace c10 {

inline void setThreadName(std::string name) {
  name.resize(name.size() < 15 ? name.size() : 15);
  pthread_setname_np(pthread_self(), name.c_str());
}
inline std::string getThreadName() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

}  // namespace c10
