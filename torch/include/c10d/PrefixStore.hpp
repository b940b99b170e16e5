#pragma once
#include "distributed/store/prefix_store.h"
