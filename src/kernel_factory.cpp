#include <cstdint>
#include <memory>

#include <gradjit/kernel_factory.hpp>

#include "src/cache/compile.hpp"
#include "src/cache/kernel_cache.hpp"
#include "src/cpu/probe.hpp"
#include "src/execute/kernel_state.hpp"
#include "src/execute/state_memo.hpp"
#include "src/out_of_memory.hpp"
#include "src/plan/request.hpp"
#include "src/plan/request_key.hpp"
#include "src/process/fork.hpp"

namespace gradjit {

class KernelFactory::State {
 public:
  explicit State(const FactoryOptions& options)
      : isa_(detail::effective_isa(options.max_isa)),
        caches_(detail::cpu_cache_sizes()),
        executor_(options.executor.get() != nullptr ? options.executor : ExecutorRef(openmp_executor())),
        cache_(options.cache_capacity, [this] { memo_.forget(); }),
        remembers_(options.cache_capacity > 0) {
    detail::prepare_to_compile();
  }

  template <typename Attributes, typename Tensors>
  [[nodiscard]] std::shared_ptr<const detail::KernelState> create(const Attributes& attributes,
                                                                  const Tensors& tensors) {
    return detail::reporting_out_of_memory([&] {
      const detail::RequestKey key(attributes, tensors);
      if (!remembers_ || !key.is_whole()) {
        return make(attributes, tensors);
      }
      const std::uint64_t hash = key.hash();
      std::shared_ptr<const detail::KernelState> state = memo_.find(key, hash);
      if (!state) {
        const std::uint64_t generation = memo_.generation();
        state = make(attributes, tensors);
        memo_.keep(key, hash, state, generation);
      }
      return state;
    });
  }

  [[nodiscard]] Isa isa() const noexcept { return isa_; }
  [[nodiscard]] FactoryStats stats() const {
    FactoryStats stats = cache_.stats();
    stats.hits += memo_.hits();
    return stats;
  }

 private:
  template <typename Attributes, typename Tensors>
  [[nodiscard]] std::shared_ptr<const detail::KernelState> make(const Attributes& attributes,
                                                                const Tensors& tensors) {
    auto state = std::make_shared<detail::KernelState>(detail::validated(attributes, tensors), isa_, caches_,
                                                       executor_);
    state->load(cache_);
    return state;
  }

  Isa isa_;
  detail::CacheSizes caches_;
  ExecutorRef executor_;
  detail::StateMemo memo_;
  detail::KernelCache cache_;
  bool remembers_;
};

KernelFactory::KernelFactory(const FactoryOptions& options) : state_(std::make_unique<State>(options)) {}

KernelFactory::~KernelFactory() = default;

EluBackwardKernel KernelFactory::elu_backward(const EluBackward& attributes, const TensorDesc& desc) {
  return EluBackwardKernel(state_->create(attributes, desc));
}

EluBackwardKernel KernelFactory::elu_backward(const EluBackward& attributes,
                                              const EluBackwardTensors& tensors) {
  return EluBackwardKernel(state_->create(attributes, tensors));
}

LogSoftmaxBackwardKernel KernelFactory::log_softmax_backward(const LogSoftmaxBackward& attributes,
                                                             const TensorDesc& desc) {
  return LogSoftmaxBackwardKernel(state_->create(attributes, desc));
}

LogSoftmaxBackwardKernel KernelFactory::log_softmax_backward(const LogSoftmaxBackward& attributes,
                                                             const LogSoftmaxBackwardTensors& tensors) {
  return LogSoftmaxBackwardKernel(state_->create(attributes, tensors));
}

Isa KernelFactory::isa() const noexcept { return state_->isa(); }

FactoryStats KernelFactory::stats() const { return state_->stats(); }

KernelFactory& KernelFactory::shared() {
  static detail::MadeOnce<KernelFactory> factory;
  return factory.get([] { return new KernelFactory; });
}

}  // namespace gradjit
