#include "distributed/process_group/backend_plugins.h"

#include <algorithm>
#include <cctype>
#include <list>
#include <mutex>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d {
namespace {

struct Plugins {
  std::mutex mutex;
  std::list<BackendPlugin> all;  // which stay where they are
};

// Made when it is first wanted, which is before main().
Plugins& plugins() {
  static auto* const made = new Plugins();
  return *made;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  return parts;
}

const BackendPlugin* find(const std::string& name) {
  const std::lock_guard<std::mutex> lock(plugins().mutex);
  for (const BackendPlugin& plugin : plugins().all) {
    if (plugin.name == name) return &plugin;
  }
  return nullptr;
}

}  // namespace

bool register_backend(BackendPlugin plugin) {
  TORCH_CHECK_VALUE(!plugin.name.empty() && plugin.make && !plugin.devices.empty(),
                    "register_backend: an engine needs a name, devices and a function that makes backends");
  plugin.name = lower(plugin.name);
  const std::lock_guard<std::mutex> lock(plugins().mutex);
  for (BackendPlugin& known : plugins().all) {
    if (known.name != plugin.name) continue;
    known = std::move(plugin);
    return true;
  }
  plugins().all.push_back(std::move(plugin));
  return true;
}

const BackendPlugin& find_backend(const std::string& name) {
  const BackendPlugin* const found = find(lower(name));
  if (found != nullptr) return *found;
  const std::set<std::string> ours{"gloo", "nccl", "mpi", "fake"};
  const std::string hint = ours.contains(lower(name))
                               ? c10::str("; a program that uses it links //distributed/process_group/", lower(name))
                               : std::string();
  TORCH_CHECK(false, "Distributed package doesn't have ", name, " built in: this program has ",
              registered_backends().empty() ? "no engine" : c10::Join(", ", registered_backends()), hint);
}

std::vector<std::string> registered_backends() {
  const std::lock_guard<std::mutex> lock(plugins().mutex);
  std::vector<std::string> names;
  for (const BackendPlugin& plugin : plugins().all) names.push_back(plugin.name);
  return names;
}

bool is_backend_available(const std::string& name) {
  return find(lower(name)) != nullptr;
}
bool is_gloo_available() {
  return is_backend_available("gloo");
}
bool is_nccl_available() {
  return is_backend_available("nccl");
}
bool is_mpi_available() {
  return is_backend_available("mpi");
}
bool is_ucc_available() {
  return is_backend_available("ucc");
}
bool is_xccl_available() {
  return is_backend_available("xccl");
}

std::vector<std::pair<c10::DeviceType, std::string>> parse_backends(const std::string& text) {
  std::vector<std::pair<c10::DeviceType, std::string>> found;
  const auto has = [&](c10::DeviceType device) {
    return std::any_of(found.begin(), found.end(), [&](const auto& entry) { return entry.first == device; });
  };
  if (text.empty()) {
    for (const std::string& name : registered_backends()) {
      if (name == "fake") continue;  // moves nothing: only by its name
      for (const c10::DeviceType device : find_backend(name).devices) {
        if (!has(device)) found.emplace_back(device, name);
      }
    }
    TORCH_CHECK(!found.empty(), "this program has no engine: it links none, such as //distributed/process_group/gloo");
    return found;
  }
  for (const std::string& part : parts_of(lower(text), ',')) {
    const std::vector<std::string> words = parts_of(part, ':');
    TORCH_CHECK_VALUE(words.size() <= 2 && !words[0].empty() && !words.back().empty(), "Invalid backend: '", text,
                      "'; expected a name as \"gloo\", or \"<device>:<name>\" for each device, with commas between");
    const BackendPlugin& plugin = find_backend(words.back());
    std::vector<c10::DeviceType> devices = plugin.devices;
    if (words.size() == 2) devices = {c10::Device(words[0]).type()};
    for (const c10::DeviceType device : devices) {
      TORCH_CHECK(std::find(plugin.devices.begin(), plugin.devices.end(), device) != plugin.devices.end(), "Backend ",
                  plugin.name, " does not serve tensors on ", device);
      TORCH_CHECK_VALUE(!has(device), "Invalid backend: '", text, "' names two for ", device);
      found.emplace_back(device, plugin.name);
    }
  }
  return found;
}

}  // namespace c10d
