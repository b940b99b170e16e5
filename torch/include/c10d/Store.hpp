#pragma once
#include "distributed/store/store.h"
