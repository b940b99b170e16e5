// torch::hub: files of weights from URLs, kept in a folder. No code is loaded or run: a file's pickle may name what
// utils/pickle/values.h lists and nothing else.
//
//   c10::IValue weights = torch::hub::load_state_dict_from_url("http://127.0.0.1:8000/resnet18-5c106cde.pth",
//                                                              {.check_hash = true});
//   at::Tensor w = weights.toGenericDict().at("conv1.weight").toTensor();
//
// URLs are file://, http:// and https:// ones.
#pragma once

#include <optional>
#include <string>

#include "c10/core/device.h"
#include "c10/util/exception.h"
#include "c10/value/ivalue.h"

namespace torch::hub {

/// The server answered, and not with the file. The message has its status: "HTTP Error 404: Not Found (http://...)".
class HTTPError : public c10::Error {
 public:
  HTTPError(const std::string& message, int status) : Error(message, nullptr), code(status) {}
  int code;
};

/// Where downloaded files are kept: what set_dir() set, else $TORCH_HOME/hub, else $XDG_CACHE_HOME/torch/hub, else
/// ~/.cache/torch/hub.
std::string get_dir();
void set_dir(std::string folder);

/// Downloads a file to the path `dst`, whose folder exists. `dst` is replaced in one step once all is there and
/// its SHA-256, in hexadecimal digits, begins with `hash_prefix`, and is left alone otherwise. What arrived before a
/// connection broke is kept beside it (dst.partial) and not asked for again, in this call or a later one, where the
/// server says what version of the file it has (ETag, Last-Modified) and sends parts (Range). `progress` shows a bar on
/// standard error.
///
/// Throws c10::ValueError for other URLs, HTTPError, c10::Error for another hash ("invalid hash value (expected "5c10",
/// got "...")"; what was downloaded is removed), serialize::IoError for connections and files that fail.
void download_url_to_file(const std::string& url, const std::string& dst,
                          const std::optional<std::string>& hash_prefix = std::nullopt, bool progress = true);

struct LoadOptions {
  std::optional<std::string> model_dir = std::nullopt;  ///< without it, get_dir() + "/checkpoints"; it is made
  std::optional<c10::Device> map_location = std::nullopt;
  bool progress = true;
  /// The file's name has the first digits of its hash, name-HASH.ext, which are checked when it is downloaded. A name
  /// without is not checked, as in PyTorch.
  bool check_hash = false;
  std::optional<std::string> file_name = std::nullopt;  ///< without it, the last part of the URL's path
};

/// The value of a file of torch.save. It is downloaded unless it is in the folder. Throws what download_url_to_file and
/// torch::pickle::load throw.
c10::IValue load_state_dict_from_url(const std::string& url, const LoadOptions& options = {});

}  // namespace torch::hub

namespace torch::utils::model_zoo {
using hub::LoadOptions;
/// torch::hub::load_state_dict_from_url by its older name.
inline c10::IValue load_url(const std::string& url, const LoadOptions& options = {}) {
  return hub::load_state_dict_from_url(url, options);
}
}  // namespace torch::utils::model_zoo
