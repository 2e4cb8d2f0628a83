#include <algorithm>

#include <nlohmann/json.hpp>

#include "tools/benchmark/report.hpp"

namespace gradjit::bench {
namespace {

using Json = nlohmann::ordered_json;

Json time_of(const std::optional<Result::Rival>& rival) { return rival ? Json(rival->ns) : Json(); }
Json speedup_of(const std::optional<Result::Rival>& rival) { return rival ? Json(rival->speedup) : Json(); }

std::optional<Result::Rival> parse_rival(const Json& json, const char* time, const char* speedup) {
  if (json.at(time).is_null()) return std::nullopt;
  return Result::Rival{.ns = json.at(time).get<double>(), .speedup = json.at(speedup).get<double>()};
}

Json json_of(const Result& result, const Target& target) {
  Json json = {{"of", name_of(target.of)},
               {target.of == Bound::nanoseconds ? "at_most" : "at_least", target.bound},
               {"met", nullptr}};
  if (result.value_of(target.of)) json["met"] = result.meets(target);
  return json;
}

Json json_of(const Result& result) {
  const Case& source = *result.source;
  const bool is_elu = source.operation == Operation::elu_backward;
  Json targets = Json::array();
  for (const Target& target : result.targets()) targets.push_back(json_of(result, target));
  Json refusals = Json::object();
  for (const auto& [name, reason] : result.refusals) refusals[name] = reason;
  const std::string limited_by = result.limited_by();
  return {{"name", source.name()},
          {"op", tool::name_of(source.operation)},
          {"dtype", name_of(source.dtype)},
          {"shape", source.shape},
          {"axis", is_elu ? Json() : Json(source.axis)},
          {"use_dst", is_elu ? Json(source.use_dst) : Json()},
          {"in_place", source.in_place},
          {"isa", name_of(result.isa)},
          {"threads", source.threads},
          {"elements", source.elements()},
          {"gradjit_ns", result.gradjit_ns},
          {"onednn_ns", time_of(result.onednn)},
          {"torch_ns", time_of(result.torch)},
          {"roofline_ns", time_of(result.roofline)},
          {"speedup_onednn", speedup_of(result.onednn)},
          {"speedup_torch", speedup_of(result.torch)},
          {"of_roofline", speedup_of(result.roofline)},
          {"measures", name_of(source.measures)},
          {"strides", source.strides()},
          {"reference", source.reference == Reference::none ? Json() : Json(name_of(source.reference))},
          {"reference_ns", time_of(result.reference)},
          {"speedup_reference", speedup_of(result.reference)},
          {"plain_multiply_ns", time_of(result.plain_multiply)},
          {"of_plain_multiply", speedup_of(result.plain_multiply)},
          {"limited_by", limited_by.empty() ? Json() : Json(limited_by)},
          {"targets", std::move(targets)},
          {"repetitions", result.repetitions},
          {"spread", result.spread},
          {"refusals", std::move(refusals)}};
}

Result parse_result(const Json& json) {
  const std::vector<Case>& cases = all_cases();
  const auto name = json.at("name").get<std::string>();
  const auto source =
      std::find_if(cases.begin(), cases.end(), [&](const Case& one) { return one.name() == name; });
  if (source == cases.end()) throw std::runtime_error("no case is named " + name);
  return {.source = &*source,
          .isa = parse_isa(json.at("isa").get<std::string>()),
          .gradjit_ns = json.at("gradjit_ns").get<double>(),
          .onednn = parse_rival(json, "onednn_ns", "speedup_onednn"),
          .torch = parse_rival(json, "torch_ns", "speedup_torch"),
          .roofline = parse_rival(json, "roofline_ns", "of_roofline"),
          .reference = parse_rival(json, "reference_ns", "speedup_reference"),
          .plain_multiply = parse_rival(json, "plain_multiply_ns", "of_plain_multiply"),
          .spread = json.at("spread").get<double>(),
          .repetitions = json.at("repetitions").get<int>(),
          .refusals = json.at("refusals").get<std::map<std::string, std::string>>()};
}

}  // namespace

std::string format_json(const Report& report) {
  Json versions;
  for (const auto& [name, number] : report.versions) versions[name] = number;
  Json cases = Json::array();
  for (const Result& result : report.results) cases.push_back(json_of(result));
  Json not_run = Json::array();
  for (const NotRun& skipped : report.not_run) {
    not_run.push_back({{"name", skipped.name}, {"reason", skipped.reason}});
  }
  const Json document = {{"cpu", report.cpu},         {"isa", name_of(report.isa)},
                         {"quick", report.quick},     {"versions", std::move(versions)},
                         {"cases", std::move(cases)}, {"not_run", std::move(not_run)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<Result> parse_results(const std::string& json) {
  std::vector<Result> results;
  const Json document = Json::parse(json);
  for (const Json& entry : document.at("cases")) results.push_back(parse_result(entry));
  return results;
}

}  // namespace gradjit::bench
