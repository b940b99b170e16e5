#include "examples/serve/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace serve {
namespace {

// "0.42 ms"
std::string time_text(double seconds) {
  char buffer[32];
  if (seconds < 0.001) {
    std::snprintf(buffer, sizeof(buffer), "%.0f µs", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(buffer, sizeof(buffer), seconds < 0.1 ? "%.2f ms" : "%.0f ms", seconds * 1e3);
  } else {
    std::snprintf(buffer, sizeof(buffer), "%.2f s", seconds);
  }
  return buffer;
}

std::string row(const std::string& name, const std::string& value) {
  return "<tr><th>" + html_text(name) + "</th><td>" + html_text(value) + "</td></tr>\n";
}

std::string spec_table(const char* title, const std::vector<TensorSpec>& specs, bool all_known) {
  std::string out = "<h3>" + std::string(title) + "</h3>\n<table class=\"specs\">\n" +
                    "<tr><th>name</th><th>datatype</th><th>shape</th></tr>\n";
  for (const TensorSpec& spec : specs) {
    std::string sizes = "any";
    if (spec.sizes.has_value()) {
      sizes = "[";
      for (size_t i = 0; i < spec.sizes->size(); ++i) sizes += (i > 0 ? ", " : "") + (*spec.sizes)[i].str();
      sizes += "]";
    }
    out += "<tr><td>" + html_text(spec.name) + (spec.optional ? " <em>optional</em>" : "") + "</td><td>" +
           (spec.dtype.has_value() ? std::string(datatype_of(*spec.dtype)) : "any") + "</td><td>" + html_text(sizes) +
           "</td></tr>\n";
  }
  if (!all_known) out += "<tr><td colspan=\"3\">what a run gives</td></tr>\n";
  return out + "</table>\n";
}

std::string batching(const ServedModel& model) {
  const ModelInfo& info = model.model->info();
  if (!info.not_batched.empty()) return "each request alone: " + info.not_batched;
  if (model.batch.most_rows <= 1) return "each request alone, as the options say";
  const auto delay = model.batch.most_delay.count();
  return "up to " + std::to_string(model.batch.most_rows) + " rows together" +
         (delay > 0 ? ", waiting up to " + std::to_string(delay) + " µs for them" : "");
}

// Bars of how often times fell between powers of the square root of 2.
std::string histogram_svg(const std::vector<double>& sorted) {
  constexpr int kWidth = 560, kHeight = 120, kBase = 100;
  std::string out = "<svg class=\"times\" viewBox=\"0 0 560 120\" role=\"img\" aria-label=\"times of answers\">";
  if (sorted.empty()) {
    return out + "<text x=\"280\" y=\"60\" text-anchor=\"middle\">no answers yet</text></svg>";
  }
  const auto bin_of = [](double time) { return static_cast<int>(std::floor(2 * std::log2(std::max(time, 1e-6)))); };
  const int first = bin_of(sorted.front()), last = std::max(bin_of(sorted.back()), first + 7);
  std::vector<size_t> bins(static_cast<size_t>(last - first + 1));
  for (const double time : sorted) ++bins[static_cast<size_t>(bin_of(time) - first)];
  const size_t most = *std::max_element(bins.begin(), bins.end());
  const double wide = static_cast<double>(kWidth) / static_cast<double>(bins.size());
  char buffer[256];
  for (size_t i = 0; i < bins.size(); ++i) {
    const double high = (kBase - 8.0) * static_cast<double>(bins[i]) / static_cast<double>(most);
    const double x = wide * static_cast<double>(i);
    const std::string from = time_text(std::exp2((first + static_cast<int>(i)) / 2.0)),
                      to = time_text(std::exp2((first + static_cast<int>(i) + 1) / 2.0));
    std::snprintf(buffer, sizeof(buffer),
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%zu from %s to %s</title></rect>",
                  x + 1, kBase - high, wide - 2, high, bins[i], from.c_str(), to.c_str());
    out += buffer;
    // A label where it does not touch the one before.
    if (i % static_cast<size_t>(std::ceil(100 / wide)) == 0) {
      std::snprintf(buffer, sizeof(buffer), "<text x=\"%.1f\" y=\"%d\">%s</text>", x, kHeight - 4, from.c_str());
      out += buffer;
    }
  }
  return out + "</svg>";
}

std::string live_of(const ServedModel& model) {
  const ModelMetrics& metrics = model.metrics;
  uint64_t answered = 0, refused = 0, failed = 0;
  for (const auto& [status, count] : metrics.requests.counts()) {
    (status == 200 ? answered : status < 500 ? refused : failed) += count;
  }
  const std::vector<double> recent = metrics.recent.sorted();
  const uint64_t runs = metrics.batch_rows.count();
  char mean[32] = "none yet";
  if (runs > 0) std::snprintf(mean, sizeof(mean), "%.2f", metrics.batch_rows.sum() / static_cast<double>(runs));
  std::string out = "<table class=\"live\">\n";
  out += row("answered", std::to_string(answered));
  out += row("refused (4xx)", std::to_string(refused));
  out += row("failed (5xx)", std::to_string(failed));
  out += row("in the queue", std::to_string(model.batcher.waiting()));
  out += row("runs", std::to_string(runs));
  out += row("rows a run", mean);
  out += "</table>\n<table class=\"live\">\n";
  const std::array<std::pair<const char*, double>, 4> shares = {
      {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"most", 1}}};
  for (const auto& [name, share] : shares)
    out += row(name, recent.empty() ? "none yet" : time_text(quantile(recent, share)));
  out += row("of the last", std::to_string(recent.size()));
  return out + "</table>\n" + histogram_svg(recent);
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string page_html(const ServedModels& models) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Kindling: models</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<link rel=\"stylesheet\" href=\"/page.css\">\n<script src=\"/page.js\" defer></script>\n</head>\n<body>\n"
      "<header><h1>Kindling</h1><p>" +
      std::to_string(models.size()) + (models.size() == 1 ? " model" : " models") +
      " · <a href=\"/metrics\">metrics</a> · <span id=\"state\">live</span></p></header>\n<main>\n";
  for (size_t i = 0; i < models.size(); ++i) {
    const ServedModel& model = *models[i];
    const ModelInfo& info = model.model->info();
    const std::string name = html_text(model.name);
    out += "<section>\n<h2>" + name + "</h2>\n<p>" + html_text(info.format) + " · <code>" + html_text(info.path) +
           "</code></p>\n<p>Batches: " + html_text(batching(model)) + ".</p>\n<div class=\"columns\">\n<div>\n" +
           spec_table("Inputs", info.signature.inputs, true) + spec_table("Outputs", info.outputs, info.outputs_known) +
           "</div>\n<div>\n<h3>Now</h3>\n<div class=\"now\" id=\"live-" + std::to_string(i) + "\">" + live_of(model) +
           "</div>\n</div>\n</div>\n";
    out += "<h3>Graph</h3>\n";
    out += info.graph_svg.empty()
               ? "<p>It has too many nodes for a picture.</p>\n"
               : "<iframe src=\"/models/" + name + "/graph.svg\" title=\"graph of " + name + "\"></iframe>\n";
    out += "</section>\n";
  }
  return out + "</main>\n</body>\n</html>\n";
}

std::string live_html(const ServedModels& models) {
  std::string out;
  for (size_t i = 0; i < models.size(); ++i) {
    out += "<div id=\"live-" + std::to_string(i) + "\">" + live_of(*models[i]) + "</div>\n";
  }
  return out;
}

std::string_view page_css() {
  return R"(:root { color-scheme: light dark; --line: #8884; --bar: #4a7bd0; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 0 20px 40px; }
header { align-items: baseline; border-bottom: 1px solid var(--line); display: flex; gap: 20px; }
h1 { font-size: 22px; }
h2 { font-size: 19px; margin: 28px 0 4px; }
h3 { font-size: 15px; margin: 16px 0 4px; }
p { margin: 4px 0; }
code { font-size: 13px; }
.columns { display: flex; flex-wrap: wrap; gap: 40px; }
.now { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: 2px 14px 2px 0; text-align: left; }
.live td { font-variant-numeric: tabular-nums; min-width: 70px; text-align: right; }
.live th { font-weight: normal; }
.times { max-width: 100%; width: 420px; }
.times rect { fill: var(--bar); }
.times text { fill: currentColor; font-size: 15px; }
iframe { background: #fff; border: 1px solid var(--line); box-sizing: border-box; height: 480px; width: 100%; }
.gone { color: #c33; }
)";
}

std::string_view page_js() {
  return R"(async function renew() {
  const state = document.getElementById('state');
  try {
    const answer = await fetch('/live', {cache: 'no-store'});
    if (!answer.ok) throw new Error(answer.status);
    const parts = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of parts.querySelectorAll('[id^="live-"]')) {
      const place = document.getElementById(part.id);
      if (place) place.replaceChildren(...part.childNodes);
    }
    state.textContent = 'renewed ' + new Date().toLocaleTimeString();
    state.className = '';
  } catch (error) {
    state.textContent = 'the server does not answer';
    state.className = 'gone';
  }
  setTimeout(renew, 1000);
}
setTimeout(renew, 1000);
)";
}

}  // namespace serve
