// Memory of others as tensors: images, owners, strides, accessors.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

struct Mat {
  int rows, cols, ch;
  std::vector<uint8_t> d;
  Mat(int r, int c, int k) : rows(r), cols(c), ch(k), d(r * c * k) {
    for (size_t i = 0; i < d.size(); i++) d[i] = uint8_t(i * 37 % 256);
  }
};
void run() {
  Mat m(4, 6, 3);
  auto t = torch::from_blob(m.d.data(), {1, m.rows, m.cols, m.ch}, torch::kUInt8)
               .permute({0, 3, 1, 2})
               .to(torch::kFloat)
               .div_(255);
  std::cout << t.sizes() << t.strides() << t.is_contiguous() << t.is_contiguous(torch::MemoryFormat::ChannelsLast)
            << "\n"
            << t[0][0] << "\n";
  auto mean = torch::tensor({0.485, 0.456, 0.406}).view({1, 3, 1, 1}).to(torch::kFloat),
       sd = torch::tensor({0.229f, 0.224f, 0.225f}).view({1, 3, 1, 1});
  auto n = (t - mean) / sd;
  std::cout << n.mean({0, 2, 3}) << n.dtype() << "\n";
  torch::data::transforms::Normalize<> nz({0.5, 0.4, 0.3}, {0.1, 0.2, 0.3});
  std::cout << nz(t[0]).mean({1, 2}) << "\n";
  auto back = (t * 255).round().clamp(0, 255).to(torch::kU8).permute({0, 2, 3, 1}).contiguous();
  std::cout << std::memcmp(back.data_ptr<uint8_t>(), m.d.data(), m.d.size()) << "\n";
  auto r = torch::nn::functional::interpolate(t, torch::nn::functional::InterpolateFuncOptions()
                                                     .size(std::vector<int64_t>{2, 3})
                                                     .mode(torch::kBilinear)
                                                     .align_corners(false));
  std::cout << r << "\n";
  std::cout << torch::upsample_nearest2d(t, {8, 12})[0][1][3] << "\n";
  auto p = torch::nn::functional::pad(t, torch::nn::functional::PadFuncOptions({1, 1, 2, 2}).mode(torch::kReflect));
  std::cout << p.sizes() << p.sum() << "\n";
  int deleted = 0;
  {
    auto q = torch::from_blob(
        new float[4]{1, 2, 3, 4}, {2, 2},
        [&](void* d) {
          delete[](float*) d;
          deleted++;
        },
        torch::kFloat);
    auto w = q[1];
    q = torch::Tensor();
    std::cout << w << deleted;
  }
  std::cout << deleted << "\n";
  std::vector<double> buf{0, 1, 2, 3, 4, 5, 6, 7};
  auto s = torch::from_blob(buf.data(), {2, 2}, {4, 2}, torch::kDouble);
  std::cout << s << s.is_contiguous() << "\n";
  s.add_(10);
  std::cout << buf[0] << buf[2] << buf[1] << "\n";
  auto cl = s.clone();
  cl.zero_();
  std::cout << buf[0] << "\n";
  buf[6] = -1;
  std::cout << s[1][1].item<double>() << "\n";
  auto acc = s.accessor<double, 2>();
  double sum = 0;
  for (int i = 0; i < acc.size(0); i++)
    for (int j = 0; j < acc.size(1); j++) sum += acc[i][j];
  std::cout << sum << acc.stride(0) << "\n";
  std::vector<float> vf(cl.numel());
  auto cf = cl.to(torch::kFloat);
  std::memcpy(vf.data(), cf.data_ptr(), cf.nbytes());
  std::vector<float> v2(cf.data_ptr<float>(), cf.data_ptr<float>() + cf.numel());
  std::cout << v2.size() << cf.nbytes() << cf.element_size() << cf.itemsize() << "\n";
  auto roi = t.index({0, torch::indexing::Slice(), torch::indexing::Slice(1, 3), torch::indexing::Slice(2, 5)});
  std::cout << roi.sizes() << roi.is_contiguous() << roi.storage_offset() << "\n";
  auto gray = (t[0] * torch::tensor({.299f, .587f, .114f}).view({3, 1, 1})).sum(0);
  std::cout << gray << "\n";
  auto flipped = t.flip({3});
  std::cout << flipped[0][0][0] << "\n";
  auto mask = gray > .5;
  std::cout << mask << mask.sum().item<int>() << mask.nonzero().sizes() << "\n";
  auto k = torch::tensor({{-1.f, 0.f, 1.f}, {-2.f, 0.f, 2.f}, {-1.f, 0.f, 1.f}}).view({1, 1, 3, 3});
  std::cout << torch::conv2d(gray.view({1, 1, 4, 6}), k, {}, 1, 1) << "\n";
  std::array<int32_t, 3> ai{1, 2, 3};
  std::cout << torch::from_blob(ai.data(), 3, torch::kInt) << torch::tensor(std::vector<int>{1, 2})
            << torch::tensor(at::ArrayRef<double>{1., 2.}) << "\n";
  auto o = torch::TensorOptions().dtype(torch::kByte);
  std::cout << torch::from_blob(m.d.data(), {5}, o) << "\n";
  REFUSED(t.data_ptr<double>());
  REFUSED(t.accessor<float, 3>());
  REFUSED(t.accessor<double, 4>());
  const float* cp = cf.const_data_ptr<float>();
  std::cout << cp[0] << "\n";
  auto pk = t.packed_accessor64<float, 4>();
  std::cout << pk[0][1][2][3] << pk.size(3) << "\n";
  auto z = torch::zeros({2, 3});
  float* zp = z.data_ptr<float>();
  for (int i = 0; i < 6; i++) zp[i] = i;
  std::cout << z << z.t().contiguous().view(-1) << "\n";
  std::cout << z.view({3, 2}) << z.storage().nbytes() << z.storage().data_ptr().device()
            << (z.storage().data() == z.data_ptr()) << z.view({6}).storage().is_alias_of(z.storage()) << "\n";
  auto td = torch::from_blob(buf.data(), {8}, torch::kDouble).to(torch::kFloat, false, true);
  td[0] = 99;
  std::cout << buf[0] << torch::can_cast(torch::kDouble, torch::kByte) << torch::tensor({300, -1}).to(torch::kByte)
            << torch::tensor({1.9, -1.9}).to(torch::kInt) << torch::tensor({0., .5}).to(torch::kBool) << "\n";
}
}  // namespace

KINDLING_PROGRAM(buffers, run);
