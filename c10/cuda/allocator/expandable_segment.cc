#include "c10/cuda/allocator/expandable_segment.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "c10/cuda/exception.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

// The driver's functions, found when they are first needed, so that nothing links libcuda.
struct Driver {
  decltype(&::cuMemAddressReserve) address_reserve;
  decltype(&::cuMemAddressFree) address_free;
  decltype(&::cuMemCreate) create;
  decltype(&::cuMemRelease) release;
  decltype(&::cuMemMap) map;
  decltype(&::cuMemUnmap) unmap;
  decltype(&::cuMemSetAccess) set_access;
};

template <class Function>
bool find(const char* name, Function*& function) {
  constexpr unsigned kVersion = 12000;
  void* address = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  C10_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &address, kVersion, cudaEnableDefault, &result));
  function = reinterpret_cast<Function*>(address);
  return result == cudaDriverEntryPointSuccess && address != nullptr;
}

// Null where the driver lacks one.
const Driver* driver() {
  static const std::optional<Driver> found = []() -> std::optional<Driver> {
    Driver d{};
    if (find("cuMemAddressReserve", d.address_reserve) && find("cuMemAddressFree", d.address_free) &&
        find("cuMemCreate", d.create) && find("cuMemRelease", d.release) && find("cuMemMap", d.map) &&
        find("cuMemUnmap", d.unmap) && find("cuMemSetAccess", d.set_access))
      return d;
    return std::nullopt;
  }();
  return found ? &*found : nullptr;
}

void check(CUresult result, const char* call, const char* file, int line) {
  if (result == CUDA_SUCCESS) return;
  // The codes that both interfaces have are the same numbers.
  throw_cuda_error(static_cast<cudaError_t>(result), call, file, line);
}
#define CHECK_DRIVER(call) check((call), #call, __FILE__, __LINE__)

// Where nobody could try again later, memory and addresses are worth a second try at once.
template <class Call>
bool gave_back(const Call& call) {
  return call() == CUDA_SUCCESS || call() == CUDA_SUCCESS;
}

CUmemAllocationProp properties_of(c10::DeviceIndex device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUdeviceptr device_pointer(const char* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

}  // namespace

bool ExpandableSegment::is_supported() {
  return driver() != nullptr;
}

ExpandableSegment::ExpandableSegment(c10::DeviceIndex device, size_t piece_bytes, size_t address_bytes,
                                     std::vector<c10::DeviceIndex> peers)
    : device_(device), piece_bytes_(piece_bytes), peers_(std::move(peers)) {
  pieces_.resize((address_bytes + piece_bytes - 1) / piece_bytes);
  CUdeviceptr address = 0;
  CHECK_DRIVER(driver()->address_reserve(&address, pieces_.size() * piece_bytes_, 0, 0, 0));
  address_ = reinterpret_cast<char*>(address);
}

ExpandableSegment::~ExpandableSegment() {
  if (!gave_back([&] { return driver()->address_free(device_pointer(address_), address_bytes()); }))
    TORCH_WARN("CUDA: the addresses of an expandable segment could not be given back");
}

ExpandableSegment::Range ExpandableSegment::pieces_within(char* begin, size_t bytes) const {
  const size_t offset = static_cast<size_t>(begin - address_);
  const size_t first = (offset + piece_bytes_ - 1) / piece_bytes_;
  const size_t last = (offset + bytes) / piece_bytes_;
  return {address_ + first * piece_bytes_, last > first ? (last - first) * piece_bytes_ : 0};
}

bool ExpandableSegment::map(Range range) {
  const size_t begin = static_cast<size_t>(range.begin - address_) / piece_bytes_;
  const size_t end = begin + range.bytes / piece_bytes_;
  const CUmemAllocationProp properties = properties_of(device_);
  size_t created = begin;
  size_t mapped = begin;
  try {
    for (; created < end; ++created) {
      CUmemGenericAllocationHandle handle = 0;
      const CUresult result = driver()->create(&handle, piece_bytes_, &properties, 0);
      if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        release(begin, created);
        return false;
      }
      CHECK_DRIVER(result);
      pieces_[created] = handle;
    }
    for (; mapped < end; ++mapped)
      CHECK_DRIVER(
          driver()->map(device_pointer(address_ + mapped * piece_bytes_), piece_bytes_, 0, *pieces_[mapped], 0));
    std::vector<c10::DeviceIndex> devices = peers_;
    devices.push_back(device_);
    set_access(range, devices);
  } catch (...) {
    for (size_t i = begin; i < mapped; ++i)
      (void)driver()->unmap(device_pointer(address_ + i * piece_bytes_), piece_bytes_);
    release(begin, created);
    throw;
  }
  mapped_ += end - begin;
  return true;
}

// What cannot be released, an error that the caller is in the midst of already, is lost.
void ExpandableSegment::release(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) (void)driver()->release(*std::exchange(pieces_[i], std::nullopt));
}

ExpandableSegment::Range ExpandableSegment::unmap(Range range) {
  const size_t begin = static_cast<size_t>(range.begin - address_) / piece_bytes_;
  const size_t end = begin + range.bytes / piece_bytes_;
  bool released = true;
  size_t i = begin;
  for (; i < end; ++i) {
    const CUresult result = driver()->unmap(device_pointer(address_ + i * piece_bytes_), piece_bytes_);
    if (result != CUDA_SUCCESS && i > begin) break;
    CHECK_DRIVER(result);
    --mapped_;
    const unsigned long long handle = *std::exchange(pieces_[i], std::nullopt);
    released &= gave_back([&] { return driver()->release(handle); });
  }
  if (!released) TORCH_WARN("CUDA: memory of an expandable segment could not be given back");
  return {range.begin, (i - begin) * piece_bytes_};
}

void ExpandableSegment::set_access(Range range, const std::vector<c10::DeviceIndex>& devices) {
  std::vector<CUmemAccessDesc> access(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    access[i].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access[i].location.id = devices[i];
    access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  CHECK_DRIVER(driver()->set_access(device_pointer(range.begin), range.bytes, access.data(), access.size()));
}

void ExpandableSegment::add_peer(c10::DeviceIndex device) {
  if (std::find(peers_.begin(), peers_.end(), device) != peers_.end()) return;
  for (size_t begin = 0; begin < pieces_.size();) {
    size_t end = begin;
    while (end < pieces_.size() && pieces_[end]) ++end;
    if (end > begin) set_access({address_ + begin * piece_bytes_, (end - begin) * piece_bytes_}, {device});
    begin = end + 1;
  }
  peers_.push_back(device);
}

}  // namespace c10::cuda::CUDACachingAllocator
