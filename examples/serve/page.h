// A page for people: what is served, its graph, and how it does, renewed every second.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "examples/serve/served_model.h"

namespace serve {

using ServedModels = std::vector<std::unique_ptr<ServedModel>>;

/// The page. It loads /page.css, /page.js and the pictures of the graphs, nothing from elsewhere.
std::string page_html(const ServedModels& models);
/// What changes: a list of elements, one a model, that the page's script puts in their places.
std::string live_html(const ServedModels& models);
std::string_view page_css();
std::string_view page_js();

/// Text within HTML, also in quotes.
std::string html_text(std::string_view text);

}  // namespace serve
