#include "aten/codegen/emit.h"

namespace kindling::codegen {

std::string emit_derivatives(const Table& table) { return file_header(table); }

}  // namespace kindling::codegen
