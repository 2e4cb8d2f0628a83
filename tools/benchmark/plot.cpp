#include "tools/benchmark/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/cpu/probe.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::bench {
namespace {

/// Positions in pixels.
struct Point {
  double x = 0;
  double y = 0;
};

struct Curve {
  const char* name;
  const char* style;
  /// Nanoseconds per call; none where nothing was measured.
  std::optional<double> (*time)(const Result& result);
};

std::optional<double> ns_of(const std::optional<Result::Rival>& rival) {
  return rival ? std::optional(rival->ns) : std::nullopt;
}

/// Those drawn last are on top.
constexpr std::array<Curve, 4> curves = {{
    {"roofline (multiply)", R"(stroke="#999999" stroke-width="1.5" stroke-dasharray="5 4")",
     [](const Result& result) { return ns_of(result.roofline); }},
    {"PyTorch", R"(stroke="#d55e00" stroke-width="2")",
     [](const Result& result) { return ns_of(result.torch); }},
    {"oneDNN", R"(stroke="#0072b2" stroke-width="2")",
     [](const Result& result) { return ns_of(result.onednn); }},
    {"gradjit", R"(stroke="#009e73" stroke-width="3.5")",
     [](const Result& result) { return std::optional(result.gradjit_ns); }},
}};

/// Operation and type.
using PanelKey = std::pair<Operation, DataType>;
/// The results of each panel by size.
using Panels = std::map<PanelKey, std::map<std::int64_t, const Result*>>;

Panels panels_of(const Report& report) {
  Panels panels;
  for (const Result& result : report.results) {
    const Case& source = *result.source;
    if (source.plotted) panels[{source.operation, source.dtype}][source.elements()] = &result;
  }
  return panels;
}

double rate(std::int64_t elements, double ns) { return static_cast<double>(elements) / ns; }

/// One axis: a range of logarithms in pixels.
class Scale {
 public:
  Scale(double low, double high, double first_pixel, double last_pixel)
      : low_(std::log2(low)), high_(std::log2(high)), first_(first_pixel), last_(last_pixel) {}
  [[nodiscard]] double operator()(double value) const {
    return first_ + (std::log2(value) - low_) / (high_ - low_) * (last_ - first_);
  }

 private:
  double low_, high_, first_, last_;
};

constexpr double panel_width = 330;
constexpr double panel_height = 300;
constexpr double left = 62;
constexpr double gap = 26;
constexpr double top = 82;
constexpr double least_size = 8;
constexpr double greatest_size = 1 << 26;

std::string line(Point from, Point to, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", from.x, from.y,
                     to.x, to.y, style);
}

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : tool::one_line(text)) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else
      escaped += c;
  }
  return escaped;
}

std::string label(Point at, std::string_view anchor, std::string_view text, std::string_view style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", at.x, at.y, anchor,
                     style, escape(text));
}

/// "16", "4 Ki", "1 Mi".
std::string format_size(std::int64_t size) {
  if (size < 1024) return fmt::format("{}", size);
  return size < 1 << 20 ? fmt::format("{} Ki", size >> 10) : fmt::format("{} Mi", size >> 20);
}

/// The decades that hold all rates.
std::pair<int, int> decades_of(const Panels& panels) {
  double low = INFINITY;
  double high = 0;
  for (const auto& [key, results] : panels) {
    for (const auto& [elements, result] : results) {
      for (const Curve& curve : curves) {
        const std::optional<double> ns = curve.time(*result);
        if (!ns) continue;
        low = std::min(low, rate(elements, *ns));
        high = std::max(high, rate(elements, *ns));
      }
    }
  }
  return {static_cast<int>(std::floor(std::log10(low))), static_cast<int>(std::floor(std::log10(high))) + 1};
}

/// Where three tensors fill a cache.
std::string draw_caches(const Scale& x, DataType dtype) {
  const detail::Caches& caches = detail::cpu_info().caches;
  std::string text;
  for (const auto& [name, level] : {std::pair{"L1", caches.l1d}, {"L2", caches.l2}, {"L3", caches.l3}}) {
    const double size = static_cast<double>(level.bytes) / (3.0 * static_cast<double>(size_of(dtype)));
    if (size <= least_size || size >= greatest_size) continue;
    text += line({x(size), top}, {x(size), top + panel_height}, R"(stroke="#bbbbbb" stroke-dasharray="2 3")");
    text += label({x(size) - 3, top + panel_height - 6}, "end", name, R"(fill="#777777" font-size="11")");
  }
  return text;
}

std::string draw_grid(const Scale& x, const Scale& y, std::pair<int, int> decades, bool with_rates) {
  constexpr std::string_view thin = R"(stroke="#e4e4e4")";
  const double first = x(least_size);
  const double last = x(greatest_size);
  std::string text;
  for (int decade = decades.first; decade <= decades.second; ++decade) {
    const double unit = std::pow(10.0, decade);
    text += line({first, y(unit)}, {last, y(unit)}, R"(stroke="#cccccc")");
    if (with_rates) text += label({first - 7, y(unit) + 4}, "end", fmt::format("{:g}", unit));
    if (decade == decades.second) break;
    for (const int factor : {2, 5}) text += line({first, y(factor * unit)}, {last, y(factor * unit)}, thin);
  }
  for (std::int64_t size = 16; size < 1 << 26; size *= 16) {
    const double at = x(static_cast<double>(size));
    text += line({at, top}, {at, top + panel_height}, thin);
    text += label({at, top + panel_height + 18}, "middle", format_size(size));
  }
  return text;
}

std::string draw_curve(const Curve& curve, const std::map<std::int64_t, const Result*>& results,
                       const Scale& x, const Scale& y) {
  std::string points;
  for (const auto& [elements, result] : results) {
    const std::optional<double> ns = curve.time(*result);
    if (!ns) continue;
    points += fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(elements)), y(rate(elements, *ns)));
  }
  if (points.empty()) return "";
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", points,
                     curve.style);
}

std::string draw_legend() {
  std::string text;
  double x = left;
  for (auto curve = curves.rbegin(); curve != curves.rend(); ++curve) {
    text += line({x, 47}, {x + 30, 47}, curve->style) + label({x + 36, 51}, "start", curve->name);
    x += 120;
  }
  return text;
}

std::string title_of(const PanelKey& key) {
  const bool is_elu = key.first == Operation::elu_backward;
  return fmt::format("{} {}", is_elu ? "EluBackward, from src," : "LogSoftmaxBackward, rows of 1024,",
                     name_of(key.second));
}

}  // namespace

std::string format_plot(const Report& report) {
  const Panels panels = panels_of(report);
  const double width = left + static_cast<double>(panels.size()) * (panel_width + gap);
  const double height = top + panel_height + 48;
  const std::pair<int, int> decades = decades_of(panels);
  const Scale y(std::pow(10.0, decades.first), std::pow(10.0, decades.second), top + panel_height, top);

  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height);
  text += label({left, 24}, "start",
                fmt::format("10⁹ elements per second, one thread, {}, {}", report.cpu, name_of(report.isa)),
                "font-size=\"15\"");
  text += draw_legend();
  double begin = left;
  for (const auto& [key, results] : panels) {
    const Scale x(least_size, greatest_size, begin, begin + panel_width);
    text += draw_grid(x, y, decades, begin == left) + draw_caches(x, key.second);
    for (const Curve& curve : curves) text += draw_curve(curve, results, x, y);
    text += label({begin, top - 8}, "start", title_of(key), "font-weight=\"bold\"");
    text += label({begin + panel_width / 2, top + panel_height + 38}, "middle", "elements of a tensor");
    begin += panel_width + gap;
  }
  return text + "</svg>\n";
}

}  // namespace gradjit::bench
