// PyTorch's zip files of pickles as a format of archives. An archive is written as a state dict: one OrderedDict of dotted names.
// Files that Python wrote are archives, too: dicts within dicts are archives below their keys, the elements of a list or tuple
// have the names "0", "1" ..., and a file of one tensor has it as "0".
#pragma once

#include "utils/serialize/archive_format.h"

namespace torch::serialize {

const ArchiveFormat& pickle_archive_format();

}  // namespace torch::serialize
