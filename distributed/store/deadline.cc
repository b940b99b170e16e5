#include "distributed/store/deadline.h"

#include <string>
#include <vector>

namespace c10d::detail {

std::string quoted(const std::vector<std::string>& keys) {
  constexpr size_t kShown = 8;
  constexpr size_t kLetters = 200;
  std::string text;
  for (size_t i = 0; i < keys.size() && i < kShown; ++i) {
    text += i == 0 ? "'" : ", '";
    text += keys[i].size() <= kLetters ? keys[i] : keys[i].substr(0, kLetters) + "...";
    text += "'";
  }
  if (keys.size() > kShown) text += c10::str(" and ", keys.size() - kShown, " more");
  return text;
}

void throw_wait_timeout(const Deadline& deadline, const std::string& where, const std::vector<std::string>& keys) {
  C10_THROW_ERROR(DistStoreError, c10::str("wait timeout after ", deadline.elapsed().count(), " ms (limit ",
                                           deadline.timeout().count(), " ms) on ", where, ", keys: ", quoted(keys)));
}

void throw_queue_empty(const std::string& where, const std::string& key) {
  C10_THROW_ERROR(DistQueueEmptyError, c10::str("queue is empty on ", where, ", key: ", quoted({key})));
}

}  // namespace c10d::detail
