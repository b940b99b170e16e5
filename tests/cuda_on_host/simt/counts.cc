#include "tests/cuda_on_host/simt/counts.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace simt {
namespace counts {
namespace {

constexpr unsigned kLanes = 32, kBanks = 32;
constexpr uintptr_t kSector = 32, kBankBytes = 4;

struct Request {
  uint32_t lanes = 0;
  std::array<uintptr_t, kLanes> address;
  std::array<uint8_t, kLanes> bytes;
};

// One place in the code, for one warp.
struct Place {
  bool writes, is_shared;
  std::deque<Request> open;
  uint64_t first_open = 0;  // its number
  std::array<uint64_t, kLanes> next{};
};

// The vector of a lane whose parts are still to come.
struct Vector {
  uintptr_t begin = 0, end = 0;
  bool writes = false;
};

struct {
  bool on = false;
  std::map<std::string, KernelCounts> all;
  KernelCounts* kernel = nullptr;
  std::unordered_map<uint64_t, Place> places;
  std::unordered_map<unsigned, std::array<Vector, kLanes>> vectors;  // by warp
  std::unordered_set<uintptr_t> loaded, stored;                     // sectors
} g;

template <class Visitor>
void for_lanes(const Request& request, Visitor&& visitor) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (request.lanes >> lane & 1) visitor(lane, request.address[lane], request.bytes[lane]);
  }
}

void account_global(const Request& request, KernelCounts::Traffic& traffic, std::unordered_set<uintptr_t>& touched) {
  std::set<uintptr_t> sectors;
  for_lanes(request, [&](unsigned, uintptr_t address, size_t bytes) {
    traffic.bytes += static_cast<int64_t>(bytes);
    for (uintptr_t s = address / kSector; s <= (address + bytes - 1) / kSector; ++s) sectors.insert(s);
  });
  ++traffic.requests;
  traffic.sectors += static_cast<int64_t>(sectors.size());
  for (const uintptr_t s : sectors) traffic.first_sectors += touched.insert(s).second ? 1 : 0;
}

// Accesses of 8 bytes are served half a warp at a time, those of 16 a quarter.
void account_shared(const Request& request) {
  size_t widest = kBankBytes;
  for_lanes(request, [&](unsigned, uintptr_t, size_t bytes) { widest = std::max(widest, bytes); });
  const unsigned together = widest > 8 ? kLanes / 4 : widest > 4 ? kLanes / 2 : kLanes;
  for (unsigned first = 0; first < kLanes; first += together) {
    std::array<std::set<uintptr_t>, kBanks> words;
    for_lanes(request, [&](unsigned lane, uintptr_t address, size_t bytes) {
      if (lane < first || lane >= first + together) return;
      for (uintptr_t w = address / kBankBytes; w <= (address + bytes - 1) / kBankBytes; ++w) words[w % kBanks].insert(w);
    });
    size_t wavefronts = 0;
    for (const auto& bank : words) wavefronts = std::max(wavefronts, bank.size());
    g.kernel->shared_wavefronts += static_cast<int64_t>(wavefronts);
    g.kernel->least_shared_wavefronts += wavefronts > 0 ? 1 : 0;
  }
  ++g.kernel->shared_requests;
}

void account(const Place& place, const Request& request) {
  if (place.is_shared) return account_shared(request);
  account_global(request, place.writes ? g.kernel->stores : g.kernel->loads, place.writes ? g.stored : g.loaded);
}

// Whether the access is a part of the vector that its lane has named before.
bool is_part(const Access& access) {
  const auto warp = g.vectors.find(access.warp);
  if (warp == g.vectors.end()) return false;
  const Vector& vector = warp->second[access.lane];
  return access.writes == vector.writes && access.address >= vector.begin && access.address + access.bytes <= vector.end;
}

}  // namespace

bool is_on() { return g.on; }

void start_launch(const char* kernel, int64_t blocks, int64_t threads) {
  g.kernel = &g.all[kernel];
  ++g.kernel->launches;
  g.kernel->blocks += blocks;
  g.kernel->threads += threads;
}

void note(const Access& access) {
  if (access.is_vector) {
    g.vectors[access.warp][access.lane] = {access.address, access.address + access.bytes, access.writes};
  } else if (is_part(access)) {
    return;
  }
  if (access.is_atomic) {
    ++g.kernel->atomics;
    return;
  }
  const uint64_t key = (reinterpret_cast<uintptr_t>(access.code) << 12) | (access.warp << 2) |
                       (access.writes ? 2u : 0u) | (access.is_shared ? 1u : 0u);
  Place& place = g.places[key];
  place.writes = access.writes;
  place.is_shared = access.is_shared;
  const uint64_t number = place.next[access.lane]++;
  while (number >= place.first_open + place.open.size()) place.open.emplace_back();
  Request& request = place.open[number - place.first_open];
  request.lanes |= 1u << access.lane;
  request.address[access.lane] = access.address;
  request.bytes[access.lane] = static_cast<uint8_t>(access.bytes);
  while (!place.open.empty() && place.open.front().lanes == ~0u) {
    account(place, place.open.front());
    place.open.pop_front();
    ++place.first_open;
  }
}

void end_block() {
  for (const auto& [key, place] : g.places) {
    for (const Request& request : place.open) account(place, request);
  }
  g.places.clear();
  g.vectors.clear();
}

void end_launch() {
  g.loaded.clear();
  g.stored.clear();
  g.kernel = nullptr;
}

}  // namespace counts

KernelCounts& KernelCounts::operator+=(const KernelCounts& other) {
  const auto add = [](Traffic& to, const Traffic& from) {
    to.requests += from.requests;
    to.bytes += from.bytes;
    to.sectors += from.sectors;
    to.first_sectors += from.first_sectors;
  };
  launches += other.launches;
  blocks += other.blocks;
  threads += other.threads;
  add(loads, other.loads);
  add(stores, other.stores);
  atomics += other.atomics;
  shared_requests += other.shared_requests;
  shared_wavefronts += other.shared_wavefronts;
  least_shared_wavefronts += other.least_shared_wavefronts;
  return *this;
}

void start_counting() {
  counts::g.all.clear();
  counts::g.on = true;
}

std::map<std::string, KernelCounts> stop_counting() {
  counts::g.on = false;
  return std::move(counts::g.all);
}

}  // namespace simt
