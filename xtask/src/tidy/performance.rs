//! The check of docs/performance.md: each mechanism has its figures.
//!
//! Used by `cargo xtask tidy`. [`super::architecture`] checks that the files exist. It does not judge the figures.

/// The document.
pub(super) const DOCUMENT: &str = "docs/performance.md";
/// The phrase of a row without a figure.
const UNMEASURED: &str = "not measured";

/// Returns the problems of the document.
pub(super) fn check(text: &str) -> Vec<String> {
    let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
    let problem = |(index, line): (usize, &str)| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let what = match () {
            () if line.to_lowercase().contains(UNMEASURED) => "is not measured",
            () if cells.any(str::is_empty) => "has an empty cell",
            () => return None,
        };
        Some(format!(
            "{DOCUMENT}:{}: this mechanism {what}; give the figure, or delete the mechanism",
            index + 1
        ))
    };
    rows.filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_figures() {
        let table = |row: &str| format!("# A\n\n| a | b | c |\n|---|---:|---|\n{row}\n");
        assert_eq!(check(&table("| x | 1 | 2 |")), [""; 0]);
        assert_eq!(
            check(&table("| x | not measured yet | 2 |")),
            [
                "docs/performance.md:5: this mechanism is not measured; give the figure, or delete the mechanism"
            ]
        );
        assert_eq!(check(&table("| x | | 2 |")).len(), 1);
    }
}
