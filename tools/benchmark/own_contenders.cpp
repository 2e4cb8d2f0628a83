#include "tools/benchmark/own_contenders.hpp"

#include <atomic>
#include <thread>
#include <utility>

namespace gradjit::bench {
namespace {

EluBackward elu_attributes(const Case& source) {
  return {.alpha = alpha, .use_dst = source.use_dst, .in_place = source.in_place};
}

LogSoftmaxBackward log_softmax_attributes(const Case& source) {
  return {.axis = source.axis, .in_place = source.in_place};
}

EluBackwardKernel ask(KernelFactory& factory, const EluBackward& attributes, const TensorDesc& desc) {
  return factory.elu_backward(attributes, desc);
}

LogSoftmaxBackwardKernel ask(KernelFactory& factory, const LogSoftmaxBackward& attributes,
                             const TensorDesc& desc) {
  return factory.log_softmax_backward(attributes, desc);
}

/// Calls a kernel that it holds.
template <typename Kernel, typename Args>
class Running : public Contender {
 public:
  Running(Kernel kernel, const Args& args, int threads, std::shared_ptr<const Tensors> tensors)
      : kernel_(std::move(kernel)),
        args_(args),
        executor_(threads > 1 ? openmp_executor() : serial_executor()),
        tensors_(std::move(tensors)) {}

  [[nodiscard]] Call call() override {
    return {[](void* context) {
              const auto& self = *static_cast<const Running*>(context);
              self.kernel_.run(self.args_, self.executor_);
            },
            this};
  }

 private:
  Kernel kernel_;
  Args args_;
  Executor& executor_;
  std::shared_ptr<const Tensors> tensors_;
};

/// Asks a factory for a kernel, and drops it.
template <typename Attributes>
class Asking : public Contender {
 public:
  Asking(const FactoryOptions& options, const Attributes& attributes, TensorDesc desc)
      : factory_(options), attributes_(attributes), desc_(std::move(desc)) {
    ask_once(attributes_);
  }

  [[nodiscard]] Call call() override {
    return {[](void* context) {
              auto& self = *static_cast<Asking*>(context);
              self.ask_once(self.attributes_);
            },
            this};
  }

 protected:
  void ask_once(const Attributes& attributes) { static_cast<void>(ask(factory_, attributes, desc_)); }

 private:
  KernelFactory factory_;
  Attributes attributes_;
  TensorDesc desc_;
};

/// The same, while another thread does so too.
template <typename Attributes>
class AskingBesideAnother : public Asking<Attributes> {
 public:
  AskingBesideAnother(const FactoryOptions& options, const Attributes& attributes, const Attributes& others,
                      const TensorDesc& desc)
      : Asking<Attributes>(options, attributes, desc), others_(others) {}

  void begin() override {
    std::atomic_flag started;
    stop_ = false;
    other_thread_ = std::thread([&] {
      this->ask_once(others_);
      started.test_and_set();
      started.notify_one();
      while (!stop_.load(std::memory_order_relaxed)) this->ask_once(others_);
    });
    started.wait(false);
  }
  void end() override {
    stop_ = true;
    other_thread_.join();
  }

 private:
  Attributes others_;
  std::atomic<bool> stop_ = false;
  std::thread other_thread_;
};

template <typename Attributes>
std::unique_ptr<Contender> make_asking(const Case& source, Isa isa, const Attributes& attributes) {
  FactoryOptions options{.max_isa = isa};
  const TensorDesc desc(source.dtype, source.shape);
  Attributes others = attributes;
  if (source.measures == Measures::create) options.cache_capacity = 0;
  if (source.measures == Measures::hit_other_kernel) others.in_place = !attributes.in_place;
  if (source.measures == Measures::create || source.measures == Measures::hit) {
    return std::make_unique<Asking<Attributes>>(options, attributes, desc);
  }
  return std::make_unique<AskingBesideAnother<Attributes>>(options, attributes, others, desc);
}

std::unique_ptr<Contender> make_elu_running(const Case& source, Isa isa,
                                            std::shared_ptr<const Tensors> tensors) {
  const auto [input, diff_dst, diff_src] = source.strides();
  EluBackwardTensors descs{.diff_dst = TensorDesc(source.dtype, source.shape, diff_dst)};
  (source.use_dst ? descs.dst : descs.src) = TensorDesc(source.dtype, source.shape, input);
  if (!source.in_place) descs.diff_src = TensorDesc(source.dtype, source.shape, diff_src);
  const EluBackwardArgs args{.src = source.use_dst ? nullptr : tensors->input(),
                             .dst = source.use_dst ? tensors->input() : nullptr,
                             .diff_dst = tensors->diff_dst(),
                             .diff_src = source.in_place ? tensors->diff_dst() : tensors->diff_src()};
  KernelFactory factory({.max_isa = isa});
  return std::make_unique<Running<EluBackwardKernel, EluBackwardArgs>>(
      factory.elu_backward(elu_attributes(source), descs), args, source.threads, std::move(tensors));
}

std::unique_ptr<Contender> make_log_softmax_running(const Case& source, Isa isa,
                                                    std::shared_ptr<const Tensors> tensors) {
  const auto [dst, diff_dst, diff_src] = source.strides();
  LogSoftmaxBackwardTensors descs{.diff_dst = TensorDesc(source.dtype, source.shape, diff_dst),
                                  .dst = TensorDesc(source.dtype, source.shape, dst)};
  if (!source.in_place) descs.diff_src = TensorDesc(source.dtype, source.shape, diff_src);
  const LogSoftmaxBackwardArgs args{.diff_dst = tensors->diff_dst(),
                                    .dst = tensors->input(),
                                    .diff_src = source.in_place ? tensors->diff_dst() : tensors->diff_src()};
  KernelFactory factory({.max_isa = isa});
  return std::make_unique<Running<LogSoftmaxBackwardKernel, LogSoftmaxBackwardArgs>>(
      factory.log_softmax_backward(log_softmax_attributes(source), descs), args, source.threads,
      std::move(tensors));
}

}  // namespace

std::unique_ptr<Contender> make_own_contender(const Case& source, Isa isa,
                                              std::shared_ptr<const Tensors> tensors) {
  const bool is_elu = source.operation == Operation::elu_backward;
  if (source.measures == Measures::run) {
    return is_elu ? make_elu_running(source, isa, std::move(tensors))
                  : make_log_softmax_running(source, isa, std::move(tensors));
  }
  return is_elu ? make_asking(source, isa, elu_attributes(source))
                : make_asking(source, isa, log_softmax_attributes(source));
}

}  // namespace gradjit::bench
