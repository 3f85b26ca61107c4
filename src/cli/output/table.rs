//! Tables in kubectl's shape: capital headers, three blanks between columns, no borders, no trailing blanks.
//!
//! `tabled` lays the columns out (wide letters included); what it pads after the last column is trimmed here, and
//! nothing else of the program knows which crate does it.
//!
//! May import: cli, api

use std::cmp::Ordering;

use tabled::builder::Builder;
use tabled::settings::{Padding, Style};

use super::printable;
use crate::api::nearest;
use crate::cli::error::CliError;

/// What stands in a cell that has no value, as kubectl writes it.
pub const NONE: &str = "<none>";

/// Rows of text under headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table; headers are written in capitals.
    pub fn new<const N: usize>(headers: [&str; N]) -> Self {
        Self::with_headers(headers)
    }

    /// An empty table whose columns are known only at run time.
    pub fn with_headers<'a>(headers: impl IntoIterator<Item = &'a str>) -> Self {
        Self { headers: headers.into_iter().map(str::to_uppercase).collect(), rows: Vec::new() }
    }

    /// Appends a row. Missing cells and empty ones are written as `<none>`.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| printable(&cell.into())).collect();
        row.resize(self.headers.len(), String::new());
        for cell in &mut row {
            if cell.is_empty() {
                NONE.clone_into(cell);
            }
        }
        self.rows.push(row);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Sorts the rows by a column, named by its header in any letter case: numbers by value and before text. Equal
    /// rows keep their order.
    ///
    /// # Errors
    /// A usage error that lists the columns when there is none of that name.
    pub fn sort_by(&mut self, column: &str) -> Result<(), CliError> {
        let Some(at) = self.headers.iter().position(|header| header.eq_ignore_ascii_case(column)) else {
            let known = self.headers.iter().map(String::as_str);
            let error = CliError::usage(format!("there is no column {column:?} to sort by"));
            return Err(match nearest(column, known) {
                Some(near) => error.hint(format!("--sort-by {near}")),
                None => error.hint(format!("the columns are {}", self.headers.join(", "))),
            });
        };
        self.rows.sort_by(|a, b| compare(&a[at], &b[at]));
        Ok(())
    }

    /// The table as text; every line ends with a line feed.
    pub fn render(&self, with_headers: bool) -> String {
        let mut builder = Builder::new();
        if with_headers {
            builder.push_record(&self.headers);
        }
        for row in &self.rows {
            builder.push_record(row);
        }
        if builder.count_records() == 0 {
            return String::new();
        }
        let laid_out = builder.build().with(Style::empty()).with(Padding::new(0, 3, 0, 0)).to_string();
        laid_out.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
    }
}

/// `8` before `12` before `12.5%` before `<none>`.
fn compare(a: &str, b: &str) -> Ordering {
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x.total_cmp(&y),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn number(cell: &str) -> Option<f64> {
    // The parser of floats also takes words such as "inf", which are names here.
    let digits = cell.strip_suffix('%').unwrap_or(cell);
    digits
        .starts_with(|letter: char| letter.is_ascii_digit() || letter == '-')
        .then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Table {
        let mut table = Table::new(["name", "hole", "rate"]);
        table.row(["npu-12", "12", "5%"]);
        table.row(["npu-03", "8", ""]);
        table.row(["节点-1", "-", "16.7%"]);
        table
    }

    #[test]
    fn columns_have_three_blanks_and_lines_end_without_any() {
        insta::assert_snapshot!(nodes().render(true), @"
        NAME     HOLE   RATE
        npu-12   12     5%
        npu-03   8      <none>
        节点-1   -      16.7%
        ");
        assert!(nodes().render(true).lines().all(|line| !line.ends_with(' ')));
    }

    #[test]
    fn headers_can_be_left_out_and_an_empty_table_is_empty() {
        assert!(nodes().render(false).starts_with("npu-12"));
        assert_eq!(Table::new(["a"]).render(false), "");
        assert_eq!(Table::new(["a"]).render(true), "A\n");
    }

    #[test]
    fn numbers_sort_by_value() {
        let mut table = nodes();
        table.sort_by("Hole").unwrap();
        insta::assert_snapshot!(table.render(false), @"
        npu-03   8    <none>
        npu-12   12   5%
        节点-1   -    16.7%
        ");
    }

    #[test]
    fn an_unknown_column_is_a_usage_error_with_the_nearest_one() {
        let (mut out, captured) = crate::cli::output::Out::captured();
        let exit = nodes().sort_by("holes").unwrap_err().report(&mut out);
        assert_eq!(exit.code(), 2);
        assert_eq!(
            captured.stderr(),
            "error: there is no column \"holes\" to sort by\nhint: --sort-by HOLE\n"
        );
    }
}
