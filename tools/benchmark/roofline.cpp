#include "tools/benchmark/roofline.hpp"

#include <immintrin.h>

#include <array>

namespace gradjit::bench {
namespace {

void multiply_rest(const float* a, const float* b, float* result, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) result[i] = a[i] * b[i];
}

void multiply_sse(const float* a, const float* b, float* result, std::size_t count) {
  const std::size_t whole = count / 4 * 4;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 4) {
    _mm_store_ps(result + i, _mm_mul_ps(_mm_load_ps(a + i), _mm_load_ps(b + i)));
  }
  multiply_rest(a, b, result, whole, count);
}

void stream_sse(const float* a, const float* b, float* result, std::size_t count) {
  const std::size_t whole = count / 4 * 4;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 4) {
    _mm_stream_ps(result + i, _mm_mul_ps(_mm_load_ps(a + i), _mm_load_ps(b + i)));
  }
  multiply_rest(a, b, result, whole, count);
  _mm_sfence();
}

__attribute__((target("avx2"))) void multiply_avx2(const float* a, const float* b, float* result,
                                                   std::size_t count) {
  const std::size_t whole = count / 8 * 8;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 8) {
    _mm256_store_ps(result + i, _mm256_mul_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i)));
  }
  multiply_rest(a, b, result, whole, count);
}

__attribute__((target("avx2"))) void stream_avx2(const float* a, const float* b, float* result,
                                                 std::size_t count) {
  const std::size_t whole = count / 8 * 8;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 8) {
    _mm256_stream_ps(result + i, _mm256_mul_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i)));
  }
  multiply_rest(a, b, result, whole, count);
  _mm_sfence();
}

__attribute__((target("avx512f"))) void multiply_avx512(const float* a, const float* b, float* result,
                                                        std::size_t count) {
  const std::size_t whole = count / 16 * 16;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 16) {
    _mm512_store_ps(result + i, _mm512_mul_ps(_mm512_load_ps(a + i), _mm512_load_ps(b + i)));
  }
  multiply_rest(a, b, result, whole, count);
}

__attribute__((target("avx512f"))) void stream_avx512(const float* a, const float* b, float* result,
                                                      std::size_t count) {
  const std::size_t whole = count / 16 * 16;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 16) {
    _mm512_stream_ps(result + i, _mm512_mul_ps(_mm512_load_ps(a + i), _mm512_load_ps(b + i)));
  }
  multiply_rest(a, b, result, whole, count);
  _mm_sfence();
}

Multiply::Function choose(Isa isa, Multiply::Stores stores) {
  const bool plain = stores == Multiply::Stores::plain;
  if (isa >= Isa::avx512) return plain ? multiply_avx512 : stream_avx512;
  if (isa == Isa::avx2) return plain ? multiply_avx2 : stream_avx2;
  return plain ? multiply_sse : stream_sse;
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
