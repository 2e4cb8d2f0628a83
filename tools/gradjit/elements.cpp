#include "tools/gradjit/elements.hpp"

#include <cstring>

#include "tools/gradjit/sixteen_bits.hpp"

namespace gradjit::tool {
namespace {

template <typename T>
std::vector<T> reinterpret(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T, typename Convert>
Bytes convert_all(std::span<const float> values, Convert convert) {
  Bytes bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <typename Convert>
std::vector<float> widen(std::span<const std::byte> bytes, Convert convert) {
  std::vector<float> values;
  values.reserve(bytes.size() / 2);
  for (const std::uint16_t bits : reinterpret<std::uint16_t>(bytes)) values.push_back(convert(bits));
  return values;
}

}  // namespace

Bytes encode(std::span<const float> values, DataType dtype) {
  if (dtype == DataType::bf16) return convert_all<std::uint16_t>(values, bf16_from);
  if (dtype == DataType::f16) return convert_all<std::uint16_t>(values, f16_from);
  return convert_all<float>(values, [](float value) { return value; });
}

std::vector<float> decode(std::span<const std::byte> bytes, DataType dtype) {
  if (dtype == DataType::bf16) return widen(bytes, float_from_bf16);
  if (dtype == DataType::f16) return widen(bytes, float_from_f16);
  return reinterpret<float>(bytes);
}

std::vector<float> floats_of(const NpyArray& array) {
  return decode(array.bytes, array.type == NpyType::f2 ? DataType::f16 : DataType::f32);
}

std::vector<double> doubles_of(const NpyArray& array) { return reinterpret<double>(array.bytes); }

NpyType file_type_of(DataType dtype) { return dtype == DataType::f16 ? NpyType::f2 : NpyType::f4; }

}  // namespace gradjit::tool
