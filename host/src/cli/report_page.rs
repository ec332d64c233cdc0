//! The page of a run: its summary, results, plots, tables and parameters in one file that needs no other.

use serde_json::{Map, Value};

use super::plot::escaped;

/// Name of the page in a run's folder.
pub(super) const PAGE: &str = "report.html";

/// Rows of a table that the page shows.
const ROWS: usize = 40;
/// Entries of a list that the page shows.
const ENTRIES: usize = 12;
/// Lines of the summary that the page shows.
const LINES: usize = 200;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;color:#262626;max-width:1100px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid #ddd}
pre{background:#f6f6f6;padding:1rem;overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem}td,th{border:1px solid #ddd;padding:.15rem .5rem;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}
svg{width:100%;height:auto;border:1px solid #eee;margin-bottom:1rem}.warning{color:#a33}";

/// A table of the run: its columns, and of many rows some at equal distances.
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Rows of the file.
    count: usize,
}

impl Table {
    /// The table of a CSV file.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
        let texts = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let columns = reader.headers().map(texts).unwrap_or_default();
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let every = lines.saturating_sub(1).div_ceil(ROWS).max(1);
        let mut rows = Vec::new();
        let mut count = 0;
        for record in reader.records().map_while(Result::ok) {
            if count % every == 0 {
                rows.push(texts(&record));
            }
            count += 1;
        }
        Self {
            columns,
            rows,
            count,
        }
    }

    fn html(&self) -> String {
        let head: String = self
            .columns
            .iter()
            .map(|name| format!("<th>{}</th>", escaped(name)))
            .collect();
        let rows: String = self.rows.iter().map(|row| row_of(row)).collect();
        let note = if self.rows.len() < self.count {
            format!("<p>{} of {} rows</p>", self.rows.len(), self.count)
        } else {
            String::new()
        };
        format!("<div class=\"scroll\"><table><tr>{head}</tr>{rows}</table></div>{note}\n")
    }
}

fn row_of(row: &[String]) -> String {
    let cells: String = row
        .iter()
        .map(|cell| match cell.parse::<f64>() {
            Ok(_) => format!("<td class=\"n\">{}</td>", escaped(&short(cell))),
            Err(_) => format!("<td>{}</td>", escaped(cell)),
        })
        .collect();
    format!("<tr>{cells}</tr>")
}

/// A number with at most eight digits; the file has all.
fn short(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(value) if text.len() > 12 && value != 0.0 && !(1e-3..1e6).contains(&value.abs()) => {
            format!("{value:.7e}")
        }
        Ok(value) if text.len() > 12 => {
            let digits = format!("{value:.8}");
            digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        }
        _ => text.to_owned(),
    }
}

/// The files of a run on the page.
#[derive(Default)]
pub(super) struct Page {
    /// Names, and figures as SVG.
    pub(super) plots: Vec<(String, String)>,
    pub(super) tables: Vec<(String, Table)>,
}

impl Page {
    /// Whether a page would show no more than the record.
    pub(super) fn is_empty(&self) -> bool {
        self.plots.is_empty() && self.tables.is_empty()
    }

    /// The page; `record` is the object of `run.json`.
    pub(super) fn html(&self, record: &Map<String, Value>, summary: &str) -> String {
        let entry = |key: &str| record.get(key).unwrap_or(&Value::Null);
        let text = |key: &str| escaped(entry(key).as_str().unwrap_or_default());
        let command = text("command");
        let lines: Vec<&str> = summary.lines().take(LINES).collect();
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>rarefy {command}</title>\n<style>\n{STYLE}\n</style></head><body>\n\
             <h1>rarefy {command}</h1>\n<p>rarefy {}, {}: {}</p>\n<pre>{}</pre>\n",
            text("version"),
            text("machine"),
            text("status"),
            escaped(&lines.join("\n"))
        );
        for warning in entry("warnings").as_array().into_iter().flatten() {
            let warning = escaped(warning.as_str().unwrap_or_default());
            out.push_str(&format!("<p class=\"warning\">Warning: {warning}</p>\n"));
        }
        let mut section = |title: &str, body: String| {
            if !body.is_empty() {
                out.push_str(&format!("<h2>{}</h2>\n{body}", escaped(title)));
            }
        };
        section(
            "Plots",
            self.plots.iter().map(|(_, svg)| svg.as_str()).collect(),
        );
        section("Result", object_of(entry("result")));
        for (name, table) in &self.tables {
            section(name, table.html());
        }
        section("Conservation", object_of(entry("conservation")));
        section("Parameters", object_of(entry("parameters")));
        section("Units", object_of(entry("units")));
        section("Timings", object_of(entry("timings")));
        out.push_str("</body></html>\n");
        out
    }
}

/// An object as a table of keys and values; nothing of what is no object.
fn object_of(value: &Value) -> String {
    let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
        return String::new();
    };
    let rows: String = object
        .iter()
        .map(|(key, value)| {
            format!(
                "<tr><th>{}</th><td>{}</td></tr>",
                escaped(key),
                cell_of(value)
            )
        })
        .collect();
    format!("<div class=\"scroll\"><table>{rows}</table></div>\n")
}

fn cell_of(value: &Value) -> String {
    match value {
        Value::Object(_) => object_of(value),
        Value::Array(list) => {
            let shown: Vec<String> = list.iter().take(ENTRIES).map(cell_of).collect();
            let rest = list.len().saturating_sub(ENTRIES);
            let more = if rest > 0 {
                format!(" and {rest} more")
            } else {
                String::new()
            };
            format!("{}{more}", shown.join(" "))
        }
        Value::String(text) => escaped(text),
        Value::Null => "none".into(),
        other => escaped(&short(&other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_escapes_texts_and_thins_long_tables() {
        let rows: String = (0..1000)
            .map(|i| format!("{i},{}\n", f64::from(i) / 3.0))
            .collect();
        let mut page = Page::default();
        assert!(page.is_empty());
        page.tables
            .push(("t.csv".into(), Table::of(format!("i,x\n{rows}").as_bytes())));
        page.plots.push(("p.png".into(), "<svg></svg>".into()));
        let record = json!({
            "command": "sum", "version": "1", "machine": "CPU", "status": "done", "warnings": ["<b>"],
            "parameters": { "file": "a&b" }, "result": { "list": [1, 2], "none": null },
        });
        let html = page.html(record.as_object().expect("an object"), "1 < 2");
        for part in [
            "1 &lt; 2",
            "&lt;b&gt;",
            "a&amp;b",
            "40 of 1000 rows",
            "<svg></svg>",
            "<td>1 2</td>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
