//! Tables in plain text.
//!
//! Used by `step` and `conformance`.

/// Renders rows under headings, each column as wide as its widest cell. A row may have fewer cells
/// than the headings.
pub(crate) fn render(headings: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = headings.iter().map(ToString::to_string).collect();
    let widths: Vec<usize> = (0..headings.len())
        .map(|column| {
            let cells = std::iter::once(&head).chain(rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let rule = widths.iter().map(|width| "-".repeat(*width)).collect();
    let lines = [&head, &rule].into_iter().chain(rows).map(|row| line(row, &widths));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["format".into(), "1.0s".into()], vec!["é".into(), "12.5s".into()]];
        assert_eq!(
            render(&["step", "time"], &rows),
            "step    time\n------  -----\nformat  1.0s\né       12.5s"
        );
    }

    #[test]
    fn no_rows_leave_the_headings() {
        assert_eq!(render(&["a", "bc"], &[]), "a  bc\n-  --");
    }
}
