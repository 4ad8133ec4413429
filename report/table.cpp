#include "report/table.h"

#include <algorithm>

#include "report/printable.h"

namespace weft::report {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  ///< of an elastic column

std::vector<std::size_t> natural_widths(const std::vector<Column>& columns,
                                        const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t widest = columns_of(columns[i].title);
    for (const auto& row : rows)
      widest = std::max(widest, columns_of(row[i]));
    widths.push_back(widest);
  }
  return widths;
}

std::size_t sum_of(const std::vector<std::size_t>& widths) {
  std::size_t sum = widths.empty() ? 0 : kGap * (widths.size() - 1);
  for (const std::size_t width : widths)
    sum += width;
  return sum;
}

/// The widest elastic column gives way first.
void squeeze(const std::vector<Column>& columns, std::vector<std::size_t>& widths, std::size_t available) {
  while (sum_of(widths) > available) {
    std::size_t widest = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].elastic && widths[i] > kNarrowest && (widest == columns.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == columns.size()) return;
    --widths[widest];
  }
}

std::string line_of(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                    const std::vector<std::string>& cells, std::size_t indent) {
  std::string line(indent, ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = elided(cells[i], widths[i]);
    const std::string blanks(widths[i] - columns_of(cell), ' ');
    if (i > 0) line.append(kGap, ' ');
    line += columns[i].right ? blanks + cell : cell + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::string format_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                         std::size_t width, std::size_t indent) {
  std::vector<std::size_t> widths = natural_widths(columns, rows);
  squeeze(columns, widths, width > indent ? width - indent : 0);
  std::vector<std::string> titles;
  for (const Column& column : columns)
    titles.push_back(column.title);
  std::string table = line_of(columns, widths, titles, indent);
  for (const auto& row : rows)
    table += line_of(columns, widths, row, indent);
  return table;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  return wrapped_after(std::string(indent, ' '), text, width);
}

std::string wrapped_after(std::string_view head, std::string_view text, std::size_t width) {
  constexpr std::string_view kBlanks = " \n\r\t";
  const std::size_t indent = columns_of(head);
  std::string result;
  std::string line(head);
  std::size_t columns = indent;
  bool empty = true;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;
       at = text.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (!empty && columns + 1 + columns_of(word) > width) {
      result += line + '\n';
      line.assign(indent, ' ');
      columns = indent;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    columns += columns_of(word) + (empty ? 0 : 1);
    empty = false;
  }
  return result + line + '\n';
}

}  // namespace weft::report
