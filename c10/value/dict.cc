#include "c10/value/dict.h"

#include <algorithm>
#include <stdexcept>

#include "c10/util/exception.h"

namespace c10::detail {
namespace {

constexpr size_t kFewest = 8;

// The key's hash with its bits mixed: numbers are their own, and a slot is the lowest bits.
size_t mixed_hash(const IValue& key) {
  uint64_t x = IValue::hash(key) * uint64_t{0x9e3779b97f4a7c15};
  return x ^ (x >> 32);
}

// Tensors are the same by identity, as keys.
bool same_key(const IValue& a, const IValue& b) {
  if (a.tag() != b.tag()) return false;
  if (a.isEnum()) return *a.toEnumHolder() == *b.toEnumHolder();
  if (!a.isTuple()) return a.is(b);
  const ArrayRef<IValue> x = a.toTupleRef().elementsArrayRef(), y = b.toTupleRef().elementsArrayRef();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_key);
}

}  // namespace

void missing_key(const IValue&) { throw std::out_of_range("Argument passed to at() was not in the map."); }

DictImpl::~DictImpl() {
  std::vector<IValue> values;
  surrender(values);
  drop_values(std::move(values));
}

void DictImpl::surrender(std::vector<IValue>& into) {
  for (Entry& entry : entries) {
    into.push_back(std::move(entry.key));
    into.push_back(std::move(entry.value));
  }
  entries.clear();
  count = 0;
}

int64_t DictImpl::find(const IValue& key) const {
  if (count == 0) return -1;
  const size_t hash = mixed_hash(key);
  for (size_t slot = slot_of(hash); slots_[slot] >= 0; slot = slot_of(slot + 1)) {
    const Entry& entry = entries[static_cast<size_t>(slots_[slot])];
    if (entry.live && entry.hash == hash && same_key(entry.key, key)) return slots_[slot];
  }
  return -1;
}

std::pair<int64_t, bool> DictImpl::insert(IValue key, IValue value, bool assign) {
  const int64_t found = find(key);
  if (found >= 0) {
    if (assign) entries[static_cast<size_t>(found)].value = std::move(value);
    return {found, false};
  }
  const size_t hash = mixed_hash(key);
  if (2 * (entries.size() + 1) > slots_.size()) rehash(2 * (count + 1));
  TORCH_CHECK(entries.size() < size_t{1} << 30, "a dict holds at most 2^30 entries");
  size_t slot = slot_of(hash);
  while (slots_[slot] >= 0) slot = slot_of(slot + 1);
  slots_[slot] = static_cast<int32_t>(entries.size());
  entries.push_back({std::move(key), std::move(value), hash, true});
  ++count;
  return {static_cast<int64_t>(entries.size()) - 1, true};
}

void DictImpl::erase(int64_t entry) {
  Entry& erased = entries.at(static_cast<size_t>(entry));
  if (!erased.live) return;
  erased.live = false;
  erased.key = IValue();
  erased.value = IValue();
  --count;
}

void DictImpl::clear() {
  std::vector<IValue> values;
  surrender(values);
  slots_.clear();
  drop_values(std::move(values));
}

void DictImpl::reserve(size_t wanted) {
  if (2 * wanted > slots_.size()) rehash(wanted);
}

// Closes the gaps and makes room for `wanted` entries.
void DictImpl::rehash(size_t wanted) {
  size_t size = kFewest;
  while (size < 2 * wanted) size *= 2;
  std::erase_if(entries, [](const Entry& entry) { return !entry.live; });
  slots_.assign(size, -1);
  for (size_t i = 0; i < entries.size(); ++i) {
    size_t slot = slot_of(entries[i].hash);
    while (slots_[slot] >= 0) slot = slot_of(slot + 1);
    slots_[slot] = static_cast<int32_t>(i);
  }
}

}  // namespace c10::detail
