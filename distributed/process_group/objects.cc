#include "distributed/process_group/objects.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "distributed/process_group/collectives.h"
#include "utils/serialize/archive.h"

namespace torch::distributed {
namespace {

using at::Tensor;
using c10::IValue;
using c10d::GroupArg;

Tensor bytes_of(const char* name, const IValue& object) {
  const std::vector<char> bytes = torch::pickle_save(object);
  TORCH_CHECK_VALUE(static_cast<int64_t>(bytes.size()) <= kMaxObjectBytes, name, ": an object has ", bytes.size(),
                    " bytes, more than ", kMaxObjectBytes);
  const Tensor t = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::memcpy(t.mutable_data_ptr(), bytes.data(), bytes.size());
  return t;
}

IValue object_of(const char* name, const Tensor& bytes, int64_t from) {
  try {
    return torch::pickle_load(
        std::string_view(static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel())));
  } catch (const c10::Error& e) {
    TORCH_CHECK_WITH(DistBackendError, false, name, ": what rank ", from, " sent is no object: ", e.msg());
  }
}

Tensor numbers(int64_t count) {
  return at::zeros({count}, at::kLong);
}
int64_t* data(const Tensor& t) {
  return t.data_ptr<int64_t>();
}

// What rank `from` says its objects' sizes are.
int64_t checked(const char* name, int64_t bytes, int64_t from) {
  TORCH_CHECK_WITH(DistBackendError, bytes >= 0 && bytes <= kMaxObjectBytes, name, ": rank ", from,
                   " has an object of ", bytes, " bytes, which are not of 0 to ", kMaxObjectBytes);
  return bytes;
}

// Of several objects: their bytes, one after the other, and the sizes of each.
struct Packed {
  Tensor bytes, sizes;
};
Packed pack(const char* name, const std::vector<IValue>& objects) {
  std::vector<Tensor> parts;
  Packed packed{.bytes = Tensor(), .sizes = numbers(static_cast<int64_t>(objects.size()))};
  int64_t total = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    parts.push_back(bytes_of(name, objects[i]));
    total += data(packed.sizes)[i] = parts[i].numel();
  }
  TORCH_CHECK_VALUE(total <= kMaxObjectBytes, name, ": the objects have ", total, " bytes, more than ",
                    kMaxObjectBytes);
  packed.bytes = at::empty({total}, at::kByte);
  int64_t at = 0;
  for (const Tensor& part : parts) {
    at::narrow(packed.bytes, 0, at, part.numel()).copy_(part);
    at += part.numel();
  }
  return packed;
}
Tensor room_for(const char* name, const Tensor& sizes, int64_t from) {
  int64_t total = 0;
  for (int64_t i = 0; i < sizes.numel(); ++i) total = checked(name, total + checked(name, data(sizes)[i], from), from);
  return at::empty({total}, at::kByte);
}
void unpack(const char* name, const Packed& packed, int64_t from, std::vector<IValue>& objects) {
  std::vector<IValue> made;
  int64_t at = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    const int64_t size = data(packed.sizes)[i];
    made.push_back(object_of(name, at::narrow(packed.bytes, 0, at, size), from));
    at += size;
  }
  objects = std::move(made);
}

bool is_member(const GroupArg& group) {
  return !group || *group;
}

// Each rank's bytes, on rank `dst` of the default group or (-1) on all.
void gather_bytes(const char* name, std::vector<IValue>& objects, const IValue& object, int64_t dst,
                  const GroupArg& group) {
  if (!is_member(group)) return;
  const Tensor own = bytes_of(name, object);
  const std::vector<int64_t> ranks = c10d::get_process_group_ranks(group);
  const auto size = static_cast<int64_t>(ranks.size());
  const bool receives = dst < 0 || ranks[static_cast<size_t>(c10d::get_rank(group))] == dst;
  const Tensor sizes = numbers(size), own_size = numbers(1);
  data(own_size)[0] = own.numel();
  all_gather_into_tensor(sizes, own_size, group);
  int64_t most = 1;
  for (int64_t r = 0; r < size; ++r)
    most = std::max(most, checked(name, data(sizes)[r], ranks[static_cast<size_t>(r)]));
  TORCH_CHECK_VALUE(most <= 4 * kMaxObjectBytes / size, name, ": ", size, " objects of up to ", most,
                    " bytes take more than ", 4 * kMaxObjectBytes);
  const Tensor padded = at::zeros({most}, at::kByte);
  at::narrow(padded, 0, 0, own.numel()).copy_(own);
  std::vector<Tensor> parts;
  for (int64_t r = 0; receives && r < size; ++r) parts.push_back(at::empty({most}, at::kByte));
  dst < 0 ? all_gather(parts, padded, group) : gather(padded, parts, dst, group);
  if (!receives) return;
  std::vector<IValue> made;
  for (size_t r = 0; r < parts.size(); ++r)
    made.push_back(object_of(name, at::narrow(parts[r], 0, 0, data(sizes)[r]), ranks[r]));
  objects = std::move(made);
}

int64_t rank_here(const GroupArg& group) {
  return c10d::get_global_rank(group, c10d::get_rank(group));
}

}  // namespace

void all_gather_object(std::vector<IValue>& objects, const IValue& object, const GroupArg& group) {
  gather_bytes("all_gather_object", objects, object, -1, group);
}

void gather_object(const IValue& object, std::vector<IValue>& objects, int64_t dst, const GroupArg& group) {
  TORCH_CHECK_VALUE(dst >= 0, "gather_object: there is no rank ", dst);
  gather_bytes("gather_object", objects, object, dst, group);
}

void broadcast_object_list(std::vector<IValue>& objects, int64_t src, const GroupArg& group) {
  const char* const name = "broadcast_object_list";
  if (!is_member(group) || objects.empty()) return;
  const bool sends = rank_here(group) == src;
  Packed packed;
  if (sends) {
    packed = pack(name, objects);
  } else {
    packed.sizes = numbers(static_cast<int64_t>(objects.size()));
  }
  broadcast(packed.sizes, src, group);
  if (!sends) packed.bytes = room_for(name, packed.sizes, src);
  broadcast(packed.bytes, src, group);
  if (!sends) unpack(name, packed, src, objects);
}

IValue scatter_object_list(const std::vector<IValue>& objects, int64_t src, const GroupArg& group) {
  const char* const name = "scatter_object_list";
  if (!is_member(group)) return {};
  const int size = c10d::get_world_size(group);
  const bool sends = rank_here(group) == src;
  const Tensor sizes = numbers(size + 1);  // and the largest
  std::vector<Tensor> parts;
  if (sends) {
    TORCH_CHECK_VALUE(objects.size() == static_cast<size_t>(size), name, ": expected ", size,
                      " objects on the rank that sends, but got ", objects.size());
    int64_t most = 1;
    for (const IValue& object : objects) {
      parts.push_back(bytes_of(name, object));
      data(sizes)[parts.size() - 1] = parts.back().numel();
      most = std::max(most, parts.back().numel());
    }
    for (Tensor& part : parts) {
      const Tensor padded = at::zeros({most}, at::kByte);
      at::narrow(padded, 0, 0, part.numel()).copy_(part);
      part = padded;
    }
    data(sizes)[size] = most;
  }
  broadcast(sizes, src, group);
  const Tensor own = at::empty({checked(name, data(sizes)[size], src)}, at::kByte);
  scatter(own, parts, src, group);
  const int64_t bytes = data(sizes)[c10d::get_rank(group)];
  TORCH_CHECK_WITH(DistBackendError, bytes >= 0 && bytes <= own.numel(), name, ": rank ", src, " says that ", bytes,
                   " of ", own.numel(), " bytes are an object");
  return object_of(name, at::narrow(own, 0, 0, bytes), src);
}

void send_object_list(const std::vector<IValue>& objects, int64_t dst, const GroupArg& group) {
  if (!is_member(group) || objects.empty()) return;
  const Packed packed = pack("send_object_list", objects);
  send(packed.sizes, dst, group);
  send(packed.bytes, dst, group);
}

int64_t recv_object_list(std::vector<IValue>& objects, std::optional<int64_t> src, const GroupArg& group) {
  const char* const name = "recv_object_list";
  if (!is_member(group) || objects.empty()) return -1;
  Packed packed{.bytes = Tensor(), .sizes = numbers(static_cast<int64_t>(objects.size()))};
  const int64_t from = recv(packed.sizes, src, group);
  packed.bytes = room_for(name, packed.sizes, from);
  recv(packed.bytes, from, group);
  unpack(name, packed, from, objects);
  return from;
}

}  // namespace torch::distributed
