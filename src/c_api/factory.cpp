#include <array>

#include "src/c_api/guard.hpp"
#include "src/c_api/handles.hpp"

using namespace gradjit::detail;

namespace {

gradjit::FactoryOptions& required_options(gradjit_factory_options* options) {
  return required(options, "options", "factory options").options;
}

gradjit::KernelFactory& required_factory(const gradjit_factory* factory) {
  return *required(factory, "factory", "a factory").factory;
}

}  // namespace

gradjit_status gradjit_factory_options_create(gradjit_factory_options** options) {
  return guarded([&] {
    gradjit_factory_options*& result = required_output(options, "options");
    result = new gradjit_factory_options;
  });
}

void gradjit_factory_options_destroy(gradjit_factory_options* options) { delete options; }

gradjit_status gradjit_factory_options_set_max_isa(gradjit_factory_options* options, gradjit_isa max_isa) {
  return guarded([&] { required_options(options).max_isa = to_isa(max_isa, "max_isa"); });
}

gradjit_status gradjit_factory_options_set_cache_capacity(gradjit_factory_options* options,
                                                          uint64_t cache_capacity) {
  return guarded([&] { required_options(options).cache_capacity = cache_capacity; });
}

gradjit_status gradjit_factory_options_set_executor(gradjit_factory_options* options,
                                                    const gradjit_executor* executor) {
  return guarded([&] {
    required_options(options).executor =
        std::make_shared<CExecutor>(required(executor, "executor", "an executor"));
  });
}

gradjit_status gradjit_factory_create(const gradjit_factory_options* options, gradjit_factory** factory) {
  return guarded([&] {
    gradjit_factory*& result = required_output(factory, "factory");
    auto own = options == nullptr ? std::make_unique<gradjit::KernelFactory>()
                                  : std::make_unique<gradjit::KernelFactory>(options->options);
    gradjit::KernelFactory* const borrowed = own.get();
    result = new gradjit_factory{.own = std::move(own), .factory = borrowed};
  });
}

gradjit_status gradjit_factory_shared(gradjit_factory** factory) {
  return guarded([&] {
    gradjit_factory*& result = required_output(factory, "factory");
    result = new gradjit_factory{.own = nullptr, .factory = &gradjit::KernelFactory::shared()};
  });
}

void gradjit_factory_destroy(gradjit_factory* factory) { delete factory; }

gradjit_status gradjit_factory_isa(const gradjit_factory* factory, gradjit_isa* isa) {
  return guarded([&] {
    const gradjit::KernelFactory& source = required_factory(factory);
    required_output(isa, "isa") = to_c(source.isa());
  });
}

gradjit_status gradjit_factory_stats(const gradjit_factory* factory, uint64_t* values, size_t count) {
  return guarded([&] {
    const gradjit::FactoryStats stats = required_factory(factory).stats();
    uint64_t* const results = &required_output(values, "values");
    std::array<std::uint64_t, GRADJIT_STAT_COUNT> known{};
    known[GRADJIT_STAT_HITS] = stats.hits;
    known[GRADJIT_STAT_MISSES] = stats.misses;
    known[GRADJIT_STAT_EMISSIONS] = stats.emissions;
    known[GRADJIT_STAT_EVICTIONS] = stats.evictions;
    known[GRADJIT_STAT_KERNELS] = stats.kernels;
    known[GRADJIT_STAT_CODE_BYTES] = stats.code_bytes;
    for (std::size_t i = 0; i < count; ++i) {
      results[i] = i < known.size() ? known[i] : 0;
    }
  });
}
