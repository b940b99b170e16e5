#include "aten/codegen/emit.h"

namespace kindling::codegen {

std::string emit_registry(const Table& table) { return file_header(table); }

}  // namespace kindling::codegen
