#include <sstream>

#include "c10/util/string_util.h"

namespace c10::detail {

void append_streamed(std::string& out, void (*print)(std::ostream& stream, const void* value), const void* value) {
  std::ostringstream stream;
  print(stream, value);
  out += stream.str();
}

}  // namespace c10::detail
