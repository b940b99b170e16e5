#pragma once
#include "distributed/store/tcp_store.h"
