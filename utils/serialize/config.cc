#include "utils/serialize/config.h"

#include <sys/mman.h>

#include "c10/util/exception.h"

namespace torch::serialization {
namespace {

namespace config = torch::utils::serialization::config;

thread_local bool t_skips_data = false;

static_assert(MAP_PRIVATE == 2);

}  // namespace

std::optional<LoadEndianness> get_default_load_endianness() {
  return config::load.endianness;
}
void set_default_load_endianness(std::optional<LoadEndianness> endianness) {
  config::load.endianness = endianness;
}

bool get_crc32_options() {
  return config::save.compute_crc32;
}
void set_crc32_options(bool compute_crc32) {
  config::save.compute_crc32 = compute_crc32;
}

int get_default_mmap_options() {
  return config::load.mmap_flags;
}
void set_default_mmap_options(int flags) {
  TORCH_CHECK_VALUE(flags == MAP_PRIVATE || flags == MAP_SHARED,
                    "set_default_mmap_options: expected flags MAP_PRIVATE or MAP_SHARED, got ", flags);
  config::load.mmap_flags = flags;
}

skip_data::skip_data() : before_(t_skips_data) {
  t_skips_data = true;
}
skip_data::~skip_data() {
  t_skips_data = before_;
}
bool skip_data::is_on() {
  return t_skips_data;
}

}  // namespace torch::serialization
