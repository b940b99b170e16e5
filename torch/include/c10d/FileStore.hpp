#pragma once
#include "distributed/store/file_store.h"
