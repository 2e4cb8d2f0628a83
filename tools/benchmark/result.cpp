#include "tools/benchmark/result.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include <omp.h>

#include "src/cpu/probe.hpp"
#include "tools/benchmark/own_contenders.hpp"
#include "tools/benchmark/peer_contenders.hpp"
#include "tools/benchmark/roofline.hpp"
#include "tools/benchmark/statistics.hpp"

namespace gradjit::bench {
namespace {

/// Contenders by name, "gradjit" among them.
using Contenders = std::map<std::string, std::unique_ptr<Contender>>;

/// The multiplies in the place of the operation. In place, the third buffer stands for diff_dst, which has
/// values that must stay.
void add_multiplies(Contenders& contenders, const Case& source, Isa isa, const Tensors& tensors) {
  const void* b = source.in_place ? tensors.diff_src() : tensors.diff_dst();
  const auto bytes = static_cast<std::size_t>(source.bytes());
  const auto make = [&](Multiply::Stores stores) {
    return std::make_unique<Multiply>(isa, stores, tensors.input(), b, tensors.diff_src(), bytes);
  };
  contenders["plain"] = make(Multiply::Stores::plain);
  contenders["non_temporal"] = make(Multiply::Stores::non_temporal);
}

std::map<std::string, Samples> measure_all(const Contenders& contenders, const Pace& pace) {
  std::vector<Contender*> pointers;
  for (const auto& [name, contender] : contenders) pointers.push_back(contender.get());
  std::vector<Samples> samples = measure(pointers, pace);
  std::map<std::string, Samples> named;
  for (const auto& [name, contender] : contenders) {
    named[name] = std::move(samples.at(named.size()));
  }
  return named;
}

/// The rival of this name, if it was measured.
std::optional<Result::Rival> rival(const std::map<std::string, Samples>& samples, const std::string& name) {
  const auto found = samples.find(name);
  if (found == samples.end()) return std::nullopt;
  return Result::Rival{.ns = median(found->second),
                       .speedup = median_ratio(found->second, samples.at("gradjit"))};
}

std::string_view cache_that_holds(std::int64_t bytes) {
  const detail::Caches& caches = detail::cpu_info().caches;
  const auto fits = [bytes](const detail::CacheLevel& level) {
    return bytes <= static_cast<std::int64_t>(level.bytes);
  };
  if (fits(caches.l1d)) return "L1";
  if (fits(caches.l2)) return "L2";
  // A virtual machine may report the last-level cache of a whole socket.
  return fits(caches.l3) ? "L3 or DRAM" : "DRAM";
}

}  // namespace

Result measure_case(const Case& source, Isa isa, const std::vector<Peer>& peers, const Pace& pace) {
  // What OpenMP's executor and the peers run on.
  omp_set_num_threads(source.threads);
  Result result{.source = &source, .isa = isa};
  const auto tensors = std::make_shared<const Tensors>(source);
  Contenders contenders;
  contenders["gradjit"] = make_own_contender(source, isa, tensors);
  if (source.reference != Reference::none) {
    const Case other = source.reference_case();
    contenders["reference"] = make_own_contender(other, isa, std::make_shared<const Tensors>(other));
  }
  for (const Peer& peer : peers) {
    std::string refusal;
    auto contender = make_peer_contender(source, peer, tensors, refusal);
    if (contender == nullptr) {
      result.refusals[peer.name()] = refusal;
    } else {
      contenders[peer.name()] = std::move(contender);
    }
  }
  if (source.measures == Measures::run && source.threads == 1) {
    add_multiplies(contenders, source, isa, *tensors);
  }

  const std::map<std::string, Samples> samples = measure_all(contenders, pace);
  result.gradjit_ns = median(samples.at("gradjit"));
  result.spread = relative_spread(samples.at("gradjit"));
  result.repetitions = static_cast<int>(samples.at("gradjit").size());
  result.onednn = rival(samples, "onednn");
  result.torch = rival(samples, "torch");
  result.reference = rival(samples, "reference");
  result.plain_multiply = rival(samples, "plain");
  const auto non_temporal = rival(samples, "non_temporal");
  const bool streams = non_temporal && non_temporal->ns < result.plain_multiply->ns;
  result.roofline = streams ? non_temporal : result.plain_multiply;
  return result;
}

std::optional<double> Result::value_of(Bound bound) const {
  const auto speedup_over = [](const std::optional<Rival>& other) -> std::optional<double> {
    if (!other) return std::nullopt;
    return other->speedup;
  };
  switch (bound) {
    case Bound::onednn:
      return speedup_over(onednn);
    case Bound::torch:
      return speedup_over(torch);
    case Bound::roofline:
      return speedup_over(roofline);
    case Bound::reference:
      return speedup_over(reference);
    case Bound::nanoseconds:
      return gradjit_ns;
  }
  return std::nullopt;
}

bool Result::meets(const Target& target) const {
  const std::optional<double> value = value_of(target.of);
  if (!value) return false;
  return target.of == Bound::nanoseconds ? *value <= target.bound : *value >= target.bound;
}

std::vector<Target> Result::targets() const {
  if (!source->isa && isa < Isa::avx512) return {};
  return source->targets;
}

std::string Result::limited_by() const {
  if (!plain_multiply) return "";
  // A call that takes about as long as it takes to go through the arrays, with the same stores or better
  // ones, waits for memory. Below this share it is what happens to the elements, in one instruction or
  // another.
  constexpr double close = 0.7;
  // So few bytes take less time than the call around them.
  constexpr std::int64_t few_bytes = 4096;
  const std::int64_t touched = source->bytes() * (source->in_place ? 2 : 3);
  if (touched <= few_bytes) return "the call";
  if (plain_multiply->speedup < close) return "instructions";
  return std::string(cache_that_holds(touched));
}

}  // namespace gradjit::bench
