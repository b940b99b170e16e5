#pragma once
#include "distributed/store/hash_store.h"
