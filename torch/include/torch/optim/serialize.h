#pragma once

#include "utils/serialize/optimizer_archive.h"
