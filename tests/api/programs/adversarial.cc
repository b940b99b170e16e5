// Two nets against each other; modules and optimizers in files.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <sstream>

#include "tests/api/programs/program.h"

namespace {

struct DCGANGeneratorImpl : torch::nn::Module {
  DCGANGeneratorImpl(int kNoiseSize)
      : conv1(torch::nn::ConvTranspose2dOptions(kNoiseSize, 16, 4).bias(false)),
        batch_norm1(16),
        conv2(torch::nn::ConvTranspose2dOptions(16, 8, 3).stride(2).padding(1).bias(false)),
        batch_norm2(8),
        conv3(torch::nn::ConvTranspose2dOptions(8, 4, 4).stride(2).padding(1).bias(false)),
        batch_norm3(4),
        conv4(torch::nn::ConvTranspose2dOptions(4, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("conv4", conv4);
    register_module("batch_norm1", batch_norm1);
    register_module("batch_norm2", batch_norm2);
    register_module("batch_norm3", batch_norm3);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(batch_norm1(conv1(x)));
    x = torch::relu(batch_norm2(conv2(x)));
    x = torch::relu(batch_norm3(conv3(x)));
    x = torch::tanh(conv4(x));
    return x;
  }
  torch::nn::ConvTranspose2d conv1, conv2, conv3, conv4;
  torch::nn::BatchNorm2d batch_norm1, batch_norm2, batch_norm3;
};
TORCH_MODULE(DCGANGenerator);
torch::nn::Sequential create_discriminator() {
  return torch::nn::Sequential(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 4).stride(2).padding(1).bias(false)),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 8, 4).stride(2).padding(1).bias(false)), torch::nn::BatchNorm2d(8),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 16, 4).stride(2).padding(1).bias(false)),
      torch::nn::BatchNorm2d(16), torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 1, 3).stride(1).padding(0).bias(false)), torch::nn::Sigmoid());
}
static void weights_init(torch::nn::Module& m) {
  if (auto* c = m.as<torch::nn::Conv2d>())
    torch::nn::init::normal_(c->weight, 0.0, 0.02);
  else if (auto* c = m.as<torch::nn::ConvTranspose2d>())
    torch::nn::init::normal_(c->weight, 0.0, 0.02);
  else if (auto* b = m.as<torch::nn::BatchNorm2dImpl>()) {
    torch::nn::init::normal_(b->weight, 1.0, 0.02);
    torch::nn::init::zeros_(b->bias);
  }
}
void run() {
  torch::manual_seed(7);
  torch::Device device = torch::kCPU;
  DCGANGenerator generator(10);
  generator->to(device);
  generator->apply(weights_init);
  auto discriminator = create_discriminator();
  discriminator->to(device);
  discriminator->apply(weights_init);
  std::cout << generator << "\n" << discriminator << "\n";
  torch::optim::Adam generator_optimizer(generator->parameters(),
                                         torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.5)));
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(),
                                             torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.5)));
  for (int step = 0; step < 4; ++step) {
    discriminator->zero_grad();
    torch::Tensor real_images = torch::rand({6, 1, 28, 28}) * 2 - 1;
    torch::Tensor real_labels = torch::empty(6, device).uniform_(0.8, 1.0);
    torch::Tensor real_output = discriminator->forward(real_images).reshape(real_labels.sizes());
    torch::Tensor d_loss_real = torch::binary_cross_entropy(real_output, real_labels);
    d_loss_real.backward();
    torch::Tensor noise = torch::randn({6, 10, 1, 1}, device);
    torch::Tensor fake_images = generator->forward(noise);
    torch::Tensor fake_labels = torch::zeros(6, device);
    torch::Tensor fake_output = discriminator->forward(fake_images.detach()).reshape(fake_labels.sizes());
    torch::Tensor d_loss_fake = torch::binary_cross_entropy(fake_output, fake_labels);
    d_loss_fake.backward();
    torch::Tensor d_loss = d_loss_real + d_loss_fake;
    discriminator_optimizer.step();
    generator->zero_grad();
    fake_labels.fill_(1);
    fake_output = discriminator->forward(fake_images).reshape(fake_labels.sizes());
    torch::Tensor g_loss = torch::binary_cross_entropy(fake_output, fake_labels);
    g_loss.backward();
    generator_optimizer.step();
    std::cout << "[" << step << "] D_loss: " << d_loss.item<float>() << " | G_loss: " << g_loss.item<float>() << "\n";
  }
  std::stringstream generator_file, optimizer_file, discriminator_file;
  torch::save(generator, generator_file);
  torch::save(generator_optimizer, optimizer_file);
  torch::save(discriminator, discriminator_file);
  DCGANGenerator g2(10);
  torch::load(g2, generator_file);
  torch::optim::Adam o2(g2->parameters(), torch::optim::AdamOptions(1e-3));
  torch::load(o2, optimizer_file);
  auto d2 = create_discriminator();
  torch::load(d2, discriminator_file);
  std::cout << static_cast<torch::optim::AdamOptions&>(o2.param_groups()[0].options()).lr() << " " << o2.state().size()
            << std::endl;
  g2->eval();
  generator->eval();
  auto n = torch::randn({1, 10, 1, 1});
  std::cout << torch::allclose(g2(n), generator(n)) << " " << g2->parameters().size() << " " << g2->buffers().size()
            << std::endl;
  for (auto& b : g2->named_buffers())
    std::cout << b.key() << " " << b.value().sizes() << " " << b.value().dtype() << "\n";
}

}  // namespace

KINDLING_PROGRAM(adversarial, run);
