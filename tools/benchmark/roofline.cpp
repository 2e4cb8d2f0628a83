#include "tools/benchmark/roofline.hpp"

#include <immintrin.h>

namespace gradjit::bench {
namespace {

using Stores = Multiply::Stores;

// The loop of every instruction set. It is compiled as part of a function for that set, where a vector's
// multiply can be inlined; by itself it is for any CPU.
template <typename Unit, Stores stores>
[[gnu::always_inline]] inline void multiply_vectors(const float* a, const float* b, float* result,
                                                    std::size_t count) {
  const std::size_t whole = count / Unit::lanes * Unit::lanes;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += Unit::lanes) {
    Unit::template multiply<stores>(a + i, b + i, result + i);
  }
  for (std::size_t i = whole; i < count; ++i) result[i] = a[i] * b[i];
  if (stores == Stores::non_temporal) _mm_sfence();
}

struct Sse {
  static constexpr std::size_t lanes = 4;

  template <Stores stores>
  static void multiply(const float* a, const float* b, float* result) {
    const __m128 product = _mm_mul_ps(_mm_load_ps(a), _mm_load_ps(b));
    stores == Stores::plain ? _mm_store_ps(result, product) : _mm_stream_ps(result, product);
  }

  template <Stores stores>
  static void multiply_all(const float* a, const float* b, float* result, std::size_t count) {
    multiply_vectors<Sse, stores>(a, b, result, count);
  }
};

struct Avx2 {
  static constexpr std::size_t lanes = 8;

  template <Stores stores>
  __attribute__((target("avx2"))) static void multiply(const float* a, const float* b, float* result) {
    const __m256 product = _mm256_mul_ps(_mm256_load_ps(a), _mm256_load_ps(b));
    stores == Stores::plain ? _mm256_store_ps(result, product) : _mm256_stream_ps(result, product);
  }

  template <Stores stores>
  __attribute__((target("avx2"))) static void multiply_all(const float* a, const float* b, float* result,
                                                           std::size_t count) {
    multiply_vectors<Avx2, stores>(a, b, result, count);
  }
};

struct Avx512 {
  static constexpr std::size_t lanes = 16;

  template <Stores stores>
  __attribute__((target("avx512f"))) static void multiply(const float* a, const float* b, float* result) {
    const __m512 product = _mm512_mul_ps(_mm512_load_ps(a), _mm512_load_ps(b));
    stores == Stores::plain ? _mm512_store_ps(result, product) : _mm512_stream_ps(result, product);
  }

  template <Stores stores>
  __attribute__((target("avx512f"))) static void multiply_all(const float* a, const float* b, float* result,
                                                              std::size_t count) {
    multiply_vectors<Avx512, stores>(a, b, result, count);
  }
};

template <typename Unit>
Multiply::Function choose(Stores stores) {
  return stores == Stores::plain ? Unit::template multiply_all<Stores::plain>
                                 : Unit::template multiply_all<Stores::non_temporal>;
}

Multiply::Function choose(Isa isa, Stores stores) {
  if (isa >= Isa::avx512) return choose<Avx512>(stores);
  return isa == Isa::avx2 ? choose<Avx2>(stores) : choose<Sse>(stores);
}

}  // namespace

Multiply::Multiply(Isa isa, Stores stores, const void* a, const void* b, void* result, std::size_t bytes)
    : function_(choose(isa, stores)),
      a_(static_cast<const float*>(a)),
      b_(static_cast<const float*>(b)),
      result_(static_cast<float*>(result)),
      count_(bytes / sizeof(float)) {}

void Multiply::begin() {
  constexpr unsigned flush_subnormals = 0x8040;  // FTZ and DAZ
  saved_mxcsr_ = _mm_getcsr();
  _mm_setcsr(saved_mxcsr_ | flush_subnormals);
}

void Multiply::run(void* context) {
  const auto& self = *static_cast<const Multiply*>(context);
  self.function_(self.a_, self.b_, self.result_, self.count_);
}

void Multiply::end() { _mm_setcsr(saved_mxcsr_); }

}  // namespace gradjit::bench
